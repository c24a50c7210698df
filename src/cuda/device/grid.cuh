// Where a thread is in the whole grid.
#pragma once

#include <cstdint>

namespace tulle::cuda {

/// for (i = grid_thread(); i < n; i += grid_stride()) visits every item once, whatever the size of the grid.
__device__ __forceinline__ std::int64_t grid_thread() { return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ __forceinline__ std::int64_t grid_stride() { return std::int64_t{gridDim.x} * blockDim.x; }

/// Lets the kernel behind this one on the stream start early, where it was launched to (launch_behind): its blocks come
/// in as this grid's last leave. It waits by itself for what this grid writes.
__device__ __forceinline__ void start_dependents() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}
/// Waits until the grid before, if it let this one start early, is done and its writes are seen.
__device__ __forceinline__ void await_previous_grid() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace tulle::cuda
