// Warp-wide reductions of integers; all 32 lanes call them, and all get the result.
#pragma once

namespace tulle::cuda {

constexpr unsigned full_warp = 0xffffffffu;

template <class T>
__device__ T warp_sum(T v) {
  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(full_warp, v, d);
  return v;
}

template <class T>
__device__ T warp_max(T v) {
  for (int d = 16; d > 0; d /= 2) {
    const T other = __shfl_xor_sync(full_warp, v, d);
    v = other > v ? other : v;
  }
  return v;
}

template <class T>
__device__ T warp_min(T v) {
  for (int d = 16; d > 0; d /= 2) {
    const T other = __shfl_xor_sync(full_warp, v, d);
    v = other < v ? other : v;
  }
  return v;
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
__device__ inline int warp_max(int v) { return __reduce_max_sync(full_warp, v); }
__device__ inline int warp_min(int v) { return __reduce_min_sync(full_warp, v); }
#endif

__device__ inline int lane_id() { return static_cast<int>(threadIdx.x % 32); }

}  // namespace tulle::cuda
