// device_runtime by the CUDA runtime API. What is made once per device is kept until the process ends.
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>

#include "cuda/runtime/check.hpp"
#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/parts.hpp"
#include "cuda/runtime/pinned_slot.hpp"
#include "cuda/runtime/stream.hpp"
#include "kernels/backends.hpp"

namespace tulle::cuda {
namespace {

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
  return value;
}

device_info query(int device) {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  device_info info;
  info.backend = backend_kind::cuda;
  info.name = properties.name;
  info.multiprocessors = attribute(cudaDevAttrMultiProcessorCount, device);
  info.compute_capability =
      10 * attribute(cudaDevAttrComputeCapabilityMajor, device) + attribute(cudaDevAttrComputeCapabilityMinor, device);
  info.l2_bytes = static_cast<std::size_t>(attribute(cudaDevAttrL2CacheSize, device));
  info.shared_bytes = static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  info.memory_bytes = properties.totalGlobalMem;
  // Twice the clock in kHz, times the width in bits.
  info.memory_gbs = 2e3 * attribute(cudaDevAttrMemoryClockRate, device) *
                    attribute(cudaDevAttrGlobalMemoryBusWidth, device) / 8 / 1e9;
  check(cudaDriverGetVersion(&info.driver_version), "cudaDriverGetVersion");
  return info;
}

/// "13.0" of 13000.
std::string version(int number) { return fmt::format("{}.{}", number / 1000, number % 1000 / 10); }

cudaMemcpyKind direction(memory_space to, memory_space from) {
  if (to == memory_space::device)
    return from == memory_space::device ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice;
  return from == memory_space::device ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost;
}

/// Copies a few bytes to the host through pinned memory, which is faster than through the driver's; false if there is
/// none.
bool copy_by_slot(stream_view stream, void* to, const void* from, std::size_t bytes) {
  const pinned_slot slot;
  if (slot.data() == nullptr) return false;
  check(cudaMemcpyAsync(slot.data(), from, bytes, cudaMemcpyDeviceToHost, native(stream)), "cudaMemcpyAsync",
        status::cuda_memcpy);
  check(cudaStreamSynchronize(native(stream)), "cudaStreamSynchronize after a copy", status::cuda_memcpy);
  std::memcpy(to, slot.data(), bytes);
  return true;
}

/// The device whose memory `p` points into.
int owner_of(const void* p) {
  cudaPointerAttributes found = {};
  const cudaError_t code = cudaPointerGetAttributes(&found, p);
  (void)cudaGetLastError();
  if (code != cudaSuccess || (found.type != cudaMemoryTypeDevice && found.type != cudaMemoryTypeManaged)) {
    throw error(status::invalid_argument, "what is said to be device memory belongs to no device");
  }
  return found.device;
}

class runtime_api final : public device_runtime {
 public:
  int device_count() noexcept override {
    int count = 0;
    if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
    (void)cudaGetLastError();
    return 0;
  }

  std::string unavailable_reason() override {
    int count = 0;
    const cudaError_t code = cudaGetDeviceCount(&count);
    if (code == cudaSuccess && count > 0) return {};
    (void)cudaGetLastError();
    if (code == cudaSuccess || code == cudaErrorNoDevice) {
      return "no NVIDIA GPU is visible: check nvidia-smi and CUDA_VISIBLE_DEVICES";
    }
    int driver = 0, runtime = 0;
    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&runtime);
    if (code == cudaErrorInsufficientDriver && driver == 0) {
      return fmt::format("no NVIDIA driver is installed: CUDA {} needs one", version(runtime));
    }
    if (code == cudaErrorInsufficientDriver) {
      return fmt::format("the NVIDIA driver is too old: it supports CUDA {}, this tulle was built with CUDA {}",
                         version(driver), version(runtime));
    }
    return fmt::format("CUDA cannot start: {}: {}", cudaGetErrorName(code), cudaGetErrorString(code));
  }

  device_info info(int device) override {
    const std::lock_guard lock(mutex_);
    std::optional<device_info>& known = slot(device).info;
    if (!known) known = query(device);
    return *known;
  }

  stream_view create_stream(int device) override {
    const device_guard guard(device);
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    return {stream};
  }
  void destroy_stream(int device, stream_view stream) noexcept override {
    try {
      const device_guard guard(device);
      if (cudaStreamDestroy(native(stream)) != cudaSuccess) (void)cudaGetLastError();
    } catch (const error&) {  // the device is gone, and its streams with it
    }
  }
  void synchronize(int device, stream_view stream) override {
    const device_guard guard(device);
    check(cudaStreamSynchronize(native(stream)), "cudaStreamSynchronize");
  }

  std::shared_ptr<memory_resource> memory(int device) override {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<memory_resource>& known = slot(device).memory;
    if (known == nullptr) known = make_device_memory(device);
    return known;
  }

  std::shared_ptr<memory_resource> pinned_memory() override {
    static const auto resource = make_pinned_memory();
    return resource;
  }

  std::optional<memory_space> space_of(const void* p) noexcept override {
    cudaPointerAttributes found = {};
    if (cudaPointerGetAttributes(&found, p) != cudaSuccess) {
      (void)cudaGetLastError();
      return {};
    }
    if (found.type == cudaMemoryTypeDevice) return memory_space::device;
    if (found.type != cudaMemoryTypeUnregistered) return {};
    int device = 0, reaches_all = 0;  // where kernels read what malloc gave
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&reaches_all, cudaDevAttrPageableMemoryAccess, device) != cudaSuccess) {
      (void)cudaGetLastError();
      return {};
    }
    return reaches_all != 0 ? std::nullopt : std::optional(memory_space::host);
  }

  void copy(int device, stream_view stream, void* to, memory_space to_space, const void* from, memory_space from_space,
            std::size_t bytes) override {
    if (bytes == 0) return;
    const device_guard guard(device);
    const bool back = to_space == memory_space::host && from_space == memory_space::device;
    if (back && bytes <= pinned_slot::bytes && copy_by_slot(stream, to, from, bytes)) return;
    check(cudaMemcpyAsync(to, from, bytes, direction(to_space, from_space), native(stream)), "cudaMemcpyAsync",
          status::cuda_memcpy);
    if (to_space == memory_space::device && from_space == memory_space::device) return;
    check(cudaStreamSynchronize(native(stream)), "cudaStreamSynchronize after a copy", status::cuda_memcpy);
  }
  void copy_after_all(void* to, memory_space to_space, const void* from, memory_space from_space,
                      std::size_t bytes) override {
    if (bytes == 0) return;
    const auto wait_for_owner = [](const void* p) {
      const device_guard guard(owner_of(p));
      check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    };
    if (from_space == memory_space::device) wait_for_owner(from);
    if (to_space == memory_space::device) wait_for_owner(to);
    const int device = owner_of(to_space == memory_space::device ? to : from);
    const own_stream stream(*this, device);
    copy(device, stream.view, to, to_space, from, from_space, bytes);
    synchronize(device, stream.view);
  }
  void fill(int device, stream_view stream, void* to, unsigned char value, std::size_t bytes) override {
    if (bytes == 0) return;
    const device_guard guard(device);
    check(cudaMemsetAsync(to, value, bytes, native(stream)), "cudaMemsetAsync", status::cuda_memcpy);
  }

  std::unique_ptr<device_event> create_event(int device) override { return make_event(device); }
  std::unique_ptr<device_graph> capture(int device, stream_view stream, const std::function<void()>& work) override {
    return capture_graph(device, stream, work);
  }

  bandwidth measure_bandwidth(int device) override {
    const device_guard guard(device);
    const own_stream stream(*this, device);
    return cuda::measure_bandwidth(info(device).multiprocessors, device, stream.view);
  }
  double measure_launch_latency(int device) override {
    const device_guard guard(device);
    const own_stream stream(*this, device);
    return cuda::measure_launch_latency(stream.view);
  }
  latencies measure_latencies(int device) override {
    const device_guard guard(device);
    const own_stream stream(*this, device);
    return cuda::measure_latencies(info(device), device, stream.view);
  }

 private:
  struct per_device {
    std::optional<device_info> info;
    std::shared_ptr<memory_resource> memory;
  };
  struct own_stream {
    own_stream(runtime_api& r, int d) : runtime(r), device(d), view(r.create_stream(d)) {}
    ~own_stream() { runtime.destroy_stream(device, view); }
    own_stream(const own_stream&) = delete;
    own_stream& operator=(const own_stream&) = delete;
    runtime_api& runtime;
    int device;
    stream_view view;
  };

  per_device& slot(int device) {
    if (device < 0 || static_cast<std::size_t>(device) >= devices_.size()) {
      throw error(status::invalid_argument,
                  fmt::format("device {} is not one of 0 to {}", device, devices_.size() - 1));
    }
    return devices_[static_cast<std::size_t>(device)];
  }

  std::mutex mutex_;
  std::array<per_device, 64> devices_;
};

}  // namespace

device_runtime& runtime() {
  // Never destroyed: buffers may outlive every other static, and the driver frees all when the process ends.
  static runtime_api* const only = new runtime_api;
  return *only;
}

}  // namespace tulle::cuda
