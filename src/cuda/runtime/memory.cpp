#include "cuda/runtime/memory.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <limits>

#include "cuda/runtime/check.hpp"
#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/stream.hpp"

namespace tulle::cuda {
namespace {

void check_allocation(cudaError_t code, std::size_t bytes, int device, const char* what) {
  if (code == cudaSuccess) return;
  // A size that no address space holds may be an invalid value.
  if (code != cudaErrorMemoryAllocation && code != cudaErrorInvalidValue) raise(code, what, status::internal);
  (void)cudaGetLastError();
  throw error(status::device_out_of_memory, fmt::format("cannot allocate {} bytes on device {}", bytes, device));
}

/// Not made for export to other processes: pools that are never give memory back to the system.
class pool_memory final : public memory_resource {
 public:
  explicit pool_memory(int device) : device_(device) {
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = device;
    check(cudaMemPoolCreate(&pool_, &props), "cudaMemPoolCreate");
    std::uint64_t keep = std::numeric_limits<std::uint64_t>::max();
    const cudaError_t code = cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep);
    if (code != cudaSuccess) {
      (void)cudaMemPoolDestroy(pool_);
      raise(code, "cudaMemPoolSetAttribute", status::internal);
    }
    let_peers_in();
  }
  ~pool_memory() override { (void)cudaMemPoolDestroy(pool_); }
  pool_memory(const pool_memory&) = delete;
  pool_memory& operator=(const pool_memory&) = delete;

  void* allocate(std::size_t bytes, stream_view stream) override {
    const device_guard guard(device_);
    void* p = nullptr;
    check_allocation(cudaMallocFromPoolAsync(&p, bytes, pool_, native(stream)), bytes, device_,
                     "cudaMallocFromPoolAsync");
    return p;
  }
  void deallocate(void* p, std::size_t, stream_view stream) noexcept override {
    try {
      const device_guard guard(device_);
      if (cudaFreeAsync(p, native(stream)) != cudaSuccess) (void)cudaGetLastError();
    } catch (const error&) {  // the device is gone, and its memory with it
    }
  }
  [[nodiscard]] memory_space space() const noexcept override { return memory_space::device; }
  [[nodiscard]] int device() const noexcept override { return device_; }

 private:
  /// Copies and kernels of other devices reach the pool where the hardware lets them; elsewhere copies go by the host.
  void let_peers_in() const noexcept {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess) devices = 0;
    for (int peer = 0; peer < devices; ++peer) {
      int can = 0;
      if (peer == device_ || cudaDeviceCanAccessPeer(&can, peer, device_) != cudaSuccess || can == 0) continue;
      const cudaMemAccessDesc access = {{cudaMemLocationTypeDevice, peer}, cudaMemAccessFlagsProtReadWrite};
      (void)cudaMemPoolSetAccess(pool_, &access, 1);
    }
    (void)cudaGetLastError();
  }

  int device_;
  cudaMemPool_t pool_ = nullptr;
};

class plain_memory final : public memory_resource {
 public:
  explicit plain_memory(int device) : device_(device) {}

  void* allocate(std::size_t bytes, stream_view) override {
    const device_guard guard(device_);
    void* p = nullptr;
    check_allocation(cudaMalloc(&p, bytes), bytes, device_, "cudaMalloc");
    return p;
  }
  void deallocate(void* p, std::size_t, stream_view) noexcept override {
    try {
      const device_guard guard(device_);
      if (cudaFree(p) != cudaSuccess) (void)cudaGetLastError();  // waits for the device, so for the stream too
    } catch (const error&) {
    }
  }
  [[nodiscard]] memory_space space() const noexcept override { return memory_space::device; }
  [[nodiscard]] int device() const noexcept override { return device_; }

 private:
  int device_;
};

class pinned_memory final : public memory_resource {
 public:
  void* allocate(std::size_t bytes, stream_view) override {
    void* p = nullptr;
    const cudaError_t code = cudaHostAlloc(&p, bytes, cudaHostAllocPortable);
    if (code == cudaSuccess) return p;
    if (code != cudaErrorMemoryAllocation && code != cudaErrorInvalidValue)
      raise(code, "cudaHostAlloc", status::internal);
    (void)cudaGetLastError();
    throw error(status::out_of_memory, fmt::format("cannot allocate {} bytes of pinned host memory", bytes));
  }
  void deallocate(void* p, std::size_t, stream_view) noexcept override {
    if (cudaFreeHost(p) != cudaSuccess) (void)cudaGetLastError();
  }
  [[nodiscard]] memory_space space() const noexcept override { return memory_space::host; }
};

}  // namespace

std::shared_ptr<memory_resource> make_device_memory(int device) {
  int pools = 0;
  check(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, device), "cudaDeviceGetAttribute");
  if (pools == 0) return std::make_shared<plain_memory>(device);
  return std::make_shared<pool_memory>(device);
}

std::shared_ptr<memory_resource> make_pinned_memory() { return std::make_shared<pinned_memory>(); }

}  // namespace tulle::cuda
