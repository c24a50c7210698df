// The limits that the CUDA runtime tells, and those that stand only in the programming guide.
#include <cuda_runtime_api.h>

#include "core/device_limits.hpp"
#include "cuda/runtime/check.hpp"

namespace tulle::cuda {
namespace {

struct lanes {
  int f32 = 0, f64 = 0;
};

/// Results per clock and multiprocessor of multiply-adds outside tensor cores (CUDA C++ Programming Guide, arithmetic
/// instructions).
lanes lanes_of(int capability) {
  switch (capability) {
    case 80:
      return {64, 32};
    case 86:
    case 87:
    case 89:
    case 120:
    case 121:
      return {128, 2};
    case 90:
    case 100:
      return {128, 64};
    default:
      return {};
  }
}

}  // namespace

device_limits limits(int device) {
  const auto attribute = [device](cudaDeviceAttr which) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
    return value;
  };
  const auto bytes = [&](cudaDeviceAttr which) { return static_cast<std::size_t>(attribute(which)); };
  device_limits l;
  l.threads = attribute(cudaDevAttrMaxThreadsPerMultiProcessor);
  l.warps = l.threads / attribute(cudaDevAttrWarpSize);
  l.blocks = attribute(cudaDevAttrMaxBlocksPerMultiprocessor);
  l.threads_of_block = attribute(cudaDevAttrMaxThreadsPerBlock);
  l.registers = attribute(cudaDevAttrMaxRegistersPerMultiprocessor);
  l.line_bytes = 128;  // all devices of compute capability 5.0 and later
  l.sector_bytes = 32;
  l.shared_bytes = bytes(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  l.shared_bytes_of_block = bytes(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  l.l2_bytes = bytes(cudaDevAttrL2CacheSize);
  const lanes per_clock =
      lanes_of(10 * attribute(cudaDevAttrComputeCapabilityMajor) + attribute(cudaDevAttrComputeCapabilityMinor));
  const double clock = 1e3 * attribute(cudaDevAttrClockRate) * attribute(cudaDevAttrMultiProcessorCount);
  l.peak_f32 = 2 * per_clock.f32 * clock;
  l.peak_f64 = 2 * per_clock.f64 * clock;
  return l;
}

}  // namespace tulle::cuda
