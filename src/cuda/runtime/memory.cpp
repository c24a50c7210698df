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
    if (code == cudaSuccess) return;
    (void)cudaMemPoolDestroy(pool_);
    raise(code, "cudaMemPoolSetAttribute", status::internal);
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

 private:
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

 private:
  int device_;
};

}  // namespace

std::shared_ptr<memory_resource> make_device_memory(int device) {
  int pools = 0;
  check(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, device), "cudaDeviceGetAttribute");
  if (pools == 0) return std::make_shared<plain_memory>(device);
  return std::make_shared<pool_memory>(device);
}

}  // namespace tulle::cuda
