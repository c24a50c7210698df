// Asks for what a kernel is going to read, by its first instructions. Where a product is small it waits for reads that
// need one another's results, offsets, then columns, then rows of X: all but the first then come out of L2, and so does
// what a lane reads one after another.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/device/grid.cuh"
#include "cuda/device/load.cuh"

namespace tulle::cuda {

/// An array, or none, of which each block along x asks for a slice. What is not aligned to 16 bytes at its ends is
/// left.
class read_ahead {
 public:
  read_ahead() = default;
  read_ahead(const void* from, std::size_t bytes) {
    constexpr std::size_t aligned = 16;
    const std::size_t skipped = (aligned - reinterpret_cast<std::uintptr_t>(from) % aligned) % aligned;
    if (bytes < skipped + aligned) return;
    from_ = static_cast<const char*>(from) + skipped;
    bytes_ = static_cast<std::int64_t>((bytes - skipped) / aligned * aligned);
  }

  [[nodiscard]] bool empty() const { return bytes_ == 0; }

#ifdef __CUDACC__
  /// By one thread of each block.
  __device__ __forceinline__ void ask() const {
    if (bytes_ == 0) return;
    constexpr std::int64_t line = 128;
    const std::int64_t of_block = (bytes_ / gridDim.x / line + 1) * line, begin = of_block * blockIdx.x;
    if (begin >= bytes_) return;
    const auto size = static_cast<unsigned>(min(of_block, bytes_ - begin));
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from_ + begin), "r"(size) : "memory");
#else
    for (unsigned i = 0; i < size; i += line) prefetch_l2(from_ + begin + i);
#endif
  }
#endif

 private:
  const char* from_ = nullptr;
  std::int64_t bytes_ = 0;
};

/// What a product with several right-hand sides reads. `behind`: X is written by the kernel in front of it, which has
/// not ended yet.
struct product_ahead {
  read_ahead x, columns, values;
  bool behind = false;

  [[nodiscard]] bool has_any() const { return behind || !x.empty() || !columns.empty() || !values.empty(); }

#ifdef __CUDACC__
  /// Before anything is read: to wait further on, where it would do, moved reads and cost up to 15% (H200, whole rows,
  /// 32 columns of f64), waited for or not.
  __device__ __forceinline__ void ask() const {
    if (blockIdx.y == 0) {
      if (threadIdx.x == 0) x.ask();
      if (threadIdx.x == 32) columns.ask();
      if (threadIdx.x == 64) values.ask();
    }
    if (behind) await_previous_grid();
  }
#endif
};

}  // namespace tulle::cuda
