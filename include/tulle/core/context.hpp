/// @file
/// Where work runs: the CPU with n threads, or a CUDA device and a stream, with the memory that belongs to it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <tulle/core/memory_resource.hpp>
#include <tulle/core/types.hpp>

namespace tulle {

/// What a kernel choice may depend on. Sizes in bytes.
struct device_info {
  backend_kind backend = backend_kind::cpu;  ///< which of the two it describes
  std::string name;                          ///< of the processor or of the GPU, as the system calls it
  int multiprocessors = 1;                   ///< CUDA: streaming multiprocessors; CPU: threads
  int compute_capability = 0;                ///< CUDA: 10 * major + minor (90 for Hopper)
  std::size_t l2_bytes = 0;                  ///< CUDA: L2; CPU: last-level cache
  std::size_t shared_bytes = 0;              ///< CUDA: shared memory a block may opt in to
  std::size_t memory_bytes = 0;              ///< total
  double memory_gbs = 0;   ///< CUDA: 10^9 bytes a second of memory at its clock; 0 where the driver does not say
  int driver_version = 0;  ///< CUDA: as cudaDriverGetVersion reports it
};

/// A cheap handle (copies share the same stream and memory). Thread-compatible: one thread at a time per context.
class context {
 public:
  /// The GPU if the library was built with CUDA and one is usable, else all cores.
  static context best();
  /// `threads` = 0: as many as OpenMP would use. Throws INVALID_ARGUMENT below 0 and above 4096.
  static context cpu(int threads = 0);
  /// Creates a stream of its own on `device`. Throws UNSUPPORTED where there is no such device.
  static context cuda(int device = 0);
  /// Runs on a stream that the caller keeps alive.
  static context cuda(int device, stream_view stream);

  /// The same context with another source of memory (for pools, limits and fault injection). Throws INVALID_ARGUMENT for
  /// memory of another space or device.
  [[nodiscard]] context with_memory(std::shared_ptr<memory_resource> memory) const;

  /// The CPU or CUDA.
  [[nodiscard]] backend_kind backend() const noexcept;
  /// Where its buffers are: host memory for the CPU, device memory for CUDA.
  [[nodiscard]] memory_space space() const noexcept;
  /// Threads that one call may use, of CUDA for what the host does.
  [[nodiscard]] int threads() const noexcept;
  /// The number of the CUDA device; -1 for the CPU.
  [[nodiscard]] int device() const noexcept;
  /// What its work is queued on; of the CPU a stream that does nothing.
  [[nodiscard]] stream_view stream() const noexcept;
  /// Where its buffers get their bytes from. Lives as long as a copy of the context.
  [[nodiscard]] memory_resource& memory() const noexcept;
  /// What a kernel choice may depend on. Lives as long as a copy of the context.
  [[nodiscard]] const device_info& info() const noexcept;
  /// Waits for everything queued on this context's stream, and throws what it failed with.
  void synchronize() const;

 private:
  struct state;
  explicit context(std::shared_ptr<const state> s) noexcept : state_(std::move(s)) {}
  std::shared_ptr<const state> state_;
};

/// Number of usable CUDA devices: 0 without a driver, without a GPU or in a CPU-only build.
int cuda_device_count() noexcept;
/// Why `cuda_device_count()` is 0, in one sentence; empty otherwise.
std::string cuda_unavailable_reason();

}  // namespace tulle
