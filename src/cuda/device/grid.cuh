// Where a thread is in the whole grid.
#pragma once

#include <cstdint>

namespace tulle::cuda {

/// for (i = grid_thread(); i < n; i += grid_stride()) visits every item once, whatever the size of the grid.
__device__ __forceinline__ std::int64_t grid_thread() { return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ __forceinline__ std::int64_t grid_stride() { return std::int64_t{gridDim.x} * blockDim.x; }

}  // namespace tulle::cuda
