// Every CUDA call goes through these: a failure becomes a tulle::error and leaves no sticky error behind.
#pragma once

#include <cuda_runtime_api.h>

#include <tulle/core/status.hpp>

namespace tulle::cuda {

/// The status of an error, by cause; `otherwise` where the cause says nothing.
status status_of(cudaError_t code, status otherwise) noexcept;

[[noreturn]] void raise(cudaError_t code, const char* what, status otherwise);

/// Throws what `code` means unless it is success. `what` names the call: "cudaStreamCreateWithFlags".
inline void check(cudaError_t code, const char* what, status otherwise = status::internal) {
  if (code != cudaSuccess) raise(code, what, otherwise);
}

/// Call right after a launch: throws KERNEL_LAUNCH naming the kernel when it was refused.
void check_launch(const char* kernel);

}  // namespace tulle::cuda
