// The former names of cuda/runtime and cuda/device, until cuda/spgemm has moved over.
#pragma once

#include "cuda/device/grid.cuh"
#include "cuda/device/warp.cuh"
#include "cuda/runtime/cub_workspace.cuh"
#include "cuda/runtime/entries.cuh"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/primitives.hpp"
#include "cuda/runtime/read_back.hpp"

namespace tulle::cuda {

__device__ inline std::int64_t first_item() { return grid_thread(); }
__device__ inline std::int64_t item_step() { return grid_stride(); }
template <int Lanes = 32, class T>
__device__ __forceinline__ T sum_up_to(T v) { return warp_inclusive_sum<Lanes>(v); }
template <int Lanes, class T>
__device__ __forceinline__ T sum_over_lanes(T v) { return warp_sum<Lanes>(v); }
__host__ __device__ constexpr std::int64_t blocks_for(std::int64_t items, std::int64_t each = block_threads) {
  return ceil_div(items, each);
}

}  // namespace tulle::cuda
