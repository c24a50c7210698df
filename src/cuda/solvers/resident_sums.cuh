// The sums of a resident solver over its warps and thread blocks: four at a time, in f64, always in the same order.
#pragma once

#include "cuda/device/warp.cuh"
#include "cuda/solvers/resident_support.hpp"

namespace tulle::cuda {

/// Of r, p, q = A p; qq is q . M^-1 q, rz is r . M^-1 r.
struct resident_sums {
  static constexpr int count = 4;
  double pq, qq, rz, rr;
};

/// Lane 4 k + v has to do with sum v, and is one of eight.
__device__ __forceinline__ int sum_of_lane() { return lane_id() % resident_sums::count; }
__device__ __forceinline__ int eighth() { return lane_id() / resident_sums::count; }

/// Over the eighths, in each of them.
__device__ __forceinline__ double add_eighths(double v) {
#pragma unroll
  for (int d = resident_sums::count; d < 32; d *= 2) v += __shfl_xor_sync(full_warp, v, d);
  return v;
}

struct resident_scratch {
  using sums = double[resident_threads / 32][resident_sums::count];
  sums of_warp;   // of the block
  sums of_group;  // of the parts that a warp has looked at

  /// Leaves those of a warp in of_warp.
  __device__ __forceinline__ void leave(const resident_sums& s) {
    const bool upper = lane_id() & 16, right = lane_id() & 8;
    // Two steps halve what a lane has: 4, 2, 1 sums.
    const double a = (upper ? s.rz : s.pq) + __shfl_xor_sync(full_warp, upper ? s.pq : s.rz, 16);
    const double b = (upper ? s.rr : s.qq) + __shfl_xor_sync(full_warp, upper ? s.qq : s.rr, 16);
    double one = (right ? b : a) + __shfl_xor_sync(full_warp, right ? a : b, 8);
#pragma unroll
    for (int d = 4; d > 0; d /= 2) one += __shfl_xor_sync(full_warp, one, d);
    if (lane_id() % 8 == 0) of_warp[threadIdx.x / 32][lane_id() / 8] = one;
  }

  /// By a whole warp: the sum of a lane over `count` rows.
  template <int Most>
  static __device__ __forceinline__ double add(const double (&of)[Most][resident_sums::count], int count) {
    double sum = 0;
#pragma unroll
    for (int k = 0; k < Most / 8; ++k) {
      if (8 * k + eighth() < count) sum += of[8 * k + eighth()][sum_of_lane()];
    }
    return add_eighths(sum);
  }
};

/// Those that the lanes of a warp have, in every lane.
__device__ __forceinline__ resident_sums everywhere(double sum) {
  return {__shfl_sync(full_warp, sum, 0), __shfl_sync(full_warp, sum, 1), __shfl_sync(full_warp, sum, 2),
          __shfl_sync(full_warp, sum, 3)};
}

}  // namespace tulle::cuda
