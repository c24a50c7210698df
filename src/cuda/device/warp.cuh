// Reductions and prefix sums across a warp. All 32 lanes call them; the order of additions is the same on every run.
#pragma once

#include "cuda/device/arithmetic.cuh"

namespace tulle::cuda {

constexpr unsigned full_warp = 0xffffffffu;

__device__ __forceinline__ int lane_id() { return static_cast<int>(threadIdx.x % 32); }
/// A bit for each lane before this one.
__device__ __forceinline__ unsigned lanes_before() { return (1u << lane_id()) - 1; }

/// Sum over each aligned group of `Lanes` lanes, in every lane.
template <int Lanes = 32, class T>
__device__ __forceinline__ T warp_sum(T v) {
#pragma unroll
  for (int d = Lanes / 2; d > 0; d /= 2) v = add(v, __shfl_xor_sync(full_warp, v, d));
  return v;
}

/// Sum over the lanes of an aligned group of `Lanes` up to and including this one.
template <int Lanes = 32, class T>
__device__ __forceinline__ T warp_inclusive_sum(T v) {
#pragma unroll
  for (int d = 1; d < Lanes; d *= 2) {
    const T other = __shfl_up_sync(full_warp, v, d, Lanes);
    if (lane_id() % Lanes >= d) v += other;
  }
  return v;
}

template <class T>
__device__ T warp_max(T v) {
  for (int d = 16; d > 0; d /= 2) v = max(v, __shfl_xor_sync(full_warp, v, d));
  return v;
}

template <class T>
__device__ T warp_min(T v) {
  for (int d = 16; d > 0; d /= 2) v = min(v, __shfl_xor_sync(full_warp, v, d));
  return v;
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
__device__ inline unsigned warp_or(unsigned v) { return __reduce_or_sync(full_warp, v); }
__device__ inline int warp_max(int v) { return __reduce_max_sync(full_warp, v); }
__device__ inline int warp_min(int v) { return __reduce_min_sync(full_warp, v); }
#else
__device__ inline unsigned warp_or(unsigned v) {
  for (int d = 16; d > 0; d /= 2) v |= __shfl_xor_sync(full_warp, v, d);
  return v;
}
#endif

}  // namespace tulle::cuda
