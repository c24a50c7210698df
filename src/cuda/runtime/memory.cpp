#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "cuda/runtime/check.hpp"
#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/parts.hpp"
#include "cuda/runtime/stream.hpp"

namespace tulle::cuda {
namespace {

/// Throws `otherwise` where a failed allocation of `bytes` asked for too much.
[[noreturn]] void raise_allocation(cudaError_t code, const char* what, std::size_t bytes, status otherwise,
                                   const std::string& where) {
  // A size that no address space holds may be an invalid value.
  if (code != cudaErrorMemoryAllocation && code != cudaErrorInvalidValue) raise(code, what, status::internal);
  (void)cudaGetLastError();
  throw error(otherwise, fmt::format("cannot allocate {} bytes {}", bytes, where));
}

struct pool_destroy {
  void operator()(cudaMemPool_t pool) const { (void)cudaMemPoolDestroy(pool); }
};
using unique_pool = std::unique_ptr<std::remove_pointer_t<cudaMemPool_t>, pool_destroy>;

/// Not made for export to other processes: pools that are never give memory back to the system.
unique_pool make_pool(int device) {
  cudaMemPoolProps props = {};
  props.allocType = cudaMemAllocationTypePinned;
  props.location.type = cudaMemLocationTypeDevice;
  props.location.id = device;
  cudaMemPool_t made = nullptr;
  check(cudaMemPoolCreate(&made, &props), "cudaMemPoolCreate");
  unique_pool pool(made);
  std::uint64_t keep = std::numeric_limits<std::uint64_t>::max();
  check(cudaMemPoolSetAttribute(made, cudaMemPoolAttrReleaseThreshold, &keep), "cudaMemPoolSetAttribute");
  return pool;
}

/// Copies and kernels of other devices reach the pool where the hardware lets them; elsewhere copies go by the host.
void let_peers_in(cudaMemPool_t pool, int device) noexcept {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess) devices = 0;
  for (int peer = 0; peer < devices; ++peer) {
    int can = 0;
    if (peer == device || cudaDeviceCanAccessPeer(&can, peer, device) != cudaSuccess || can == 0) continue;
    const cudaMemAccessDesc access = {{cudaMemLocationTypeDevice, peer}, cudaMemAccessFlagsProtReadWrite};
    (void)cudaMemPoolSetAccess(pool, &access, 1);
  }
  (void)cudaGetLastError();
}

/// Allocators round sizes up, beyond all numbers where they are large enough.
void check_size(std::size_t bytes, status otherwise) {
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max() / 4;
  if (bytes > most) throw error(otherwise, fmt::format("cannot allocate {} bytes: no memory is that large", bytes));
}

class device_memory final : public memory_resource {
 public:
  explicit device_memory(int device) : device_(device) {
    int pools = 0;
    check(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, device), "cudaDeviceGetAttribute");
    if (pools == 0) return;
    pool_ = make_pool(device);
    let_peers_in(pool_.get(), device);
  }

  void* allocate(std::size_t bytes, stream_view stream) override {
    check_size(bytes, status::device_out_of_memory);
    const device_guard guard(device_);
    void* p = nullptr;
    const cudaError_t code =
        pool_ != nullptr ? cudaMallocFromPoolAsync(&p, bytes, pool_.get(), native(stream)) : cudaMalloc(&p, bytes);
    if (code == cudaSuccess) return p;
    raise_allocation(code, pool_ != nullptr ? "cudaMallocFromPoolAsync" : "cudaMalloc", bytes,
                     status::device_out_of_memory, fmt::format("on device {}", device_));
  }
  void deallocate(void* p, std::size_t, stream_view stream) noexcept override {
    try {
      const device_guard guard(device_);
      // cudaFree waits for the device, so for the stream too.
      const cudaError_t code = pool_ != nullptr ? cudaFreeAsync(p, native(stream)) : cudaFree(p);
      if (code != cudaSuccess) (void)cudaGetLastError();
    } catch (const error&) {  // the device is gone, and its memory with it
    }
  }
  [[nodiscard]] memory_space space() const noexcept override { return memory_space::device; }
  [[nodiscard]] int device() const noexcept override { return device_; }

 private:
  int device_;
  unique_pool pool_;  // null where the device has none
};

class pinned_memory final : public memory_resource {
 public:
  void* allocate(std::size_t bytes, stream_view) override {
    check_size(bytes, status::out_of_memory);
    void* p = nullptr;
    const cudaError_t code = cudaHostAlloc(&p, bytes, cudaHostAllocPortable);
    if (code == cudaSuccess) return p;
    raise_allocation(code, "cudaHostAlloc", bytes, status::out_of_memory, "of pinned host memory");
  }
  void deallocate(void* p, std::size_t, stream_view) noexcept override {
    if (cudaFreeHost(p) != cudaSuccess) (void)cudaGetLastError();
  }
  [[nodiscard]] memory_space space() const noexcept override { return memory_space::host; }
};

}  // namespace

std::shared_ptr<memory_resource> make_device_memory(int device) { return std::make_shared<device_memory>(device); }
std::shared_ptr<memory_resource> make_pinned_memory() { return std::make_shared<pinned_memory>(); }

}  // namespace tulle::cuda
