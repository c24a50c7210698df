#include "cuda/runtime/check.hpp"

#include <fmt/format.h>

namespace tulle::cuda {

status status_of(cudaError_t code, status otherwise) noexcept {
  switch (code) {
    case cudaErrorMemoryAllocation:
      return status::device_out_of_memory;
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorNotSupported:
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureInvalidated:
      return status::unsupported;
    case cudaErrorInvalidDevice:
      return status::invalid_argument;
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorLaunchOutOfResources:
    case cudaErrorInvalidConfiguration:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorHardwareStackError:
    case cudaErrorAssert:
      return status::kernel_launch;
    default:
      return otherwise;
  }
}

void raise(cudaError_t code, const char* what, status otherwise) {
  (void)cudaGetLastError();  // errors that can be recovered from must not surface again in the next launch
  throw error(status_of(code, otherwise),
              fmt::format("{}: {}: {}", what, cudaGetErrorName(code), cudaGetErrorString(code)));
}

void check_launch(const char* kernel) {
  const cudaError_t code = cudaPeekAtLastError();
  if (code == cudaSuccess) return;
  raise(code, fmt::format("launch of {}", kernel).c_str(), status::kernel_launch);
}

}  // namespace tulle::cuda
