// Warp-wide reductions and prefix sums of integers; all 32 lanes call them.
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

__device__ inline unsigned warp_or(unsigned v) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  return __reduce_or_sync(full_warp, v);
#else
  for (int d = 16; d > 0; d /= 2) v |= __shfl_xor_sync(full_warp, v, d);
  return v;
#endif
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
__device__ inline int warp_max(int v) { return __reduce_max_sync(full_warp, v); }
__device__ inline int warp_min(int v) { return __reduce_min_sync(full_warp, v); }
#endif

__device__ inline int lane_id() { return static_cast<int>(threadIdx.x % 32); }
/// A bit for each lane before this one.
__device__ inline unsigned lanes_before() { return (1u << lane_id()) - 1; }

/// Sum over the lanes of a group of `Lanes` up to and including this one.
template <int Lanes = 32, class T>
__device__ __forceinline__ T sum_up_to(T v) {
#pragma unroll
  for (int d = 1; d < Lanes; d *= 2) {
    const T other = __shfl_up_sync(full_warp, v, d, Lanes);
    if (lane_id() % Lanes >= d) v += other;
  }
  return v;
}

}  // namespace tulle::cuda
