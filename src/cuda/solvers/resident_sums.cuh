// The sums of a resident solver over its warps and thread blocks: five at a time, in f64, always in the same order.
#pragma once

#include "cuda/device/warp.cuh"
#include "cuda/solvers/resident_support.hpp"

namespace tulle::cuda {

/// Of r, z = M^-1 r, p, q = A p, and M^-1 q.
struct resident_sums {
  static constexpr int count = 5;
  static constexpr int stride = 8;
  double pq, zq, qq, rz, rr;
};

/// Lane 8 k + v has to do with sum v, and is one of four.
__device__ __forceinline__ int sum_of_lane() { return lane_id() % resident_sums::stride; }
__device__ __forceinline__ int quarter() { return lane_id() / resident_sums::stride; }

/// Over the four quarters, in each of them.
__device__ __forceinline__ double add_quarters(double v) {
  v += __shfl_xor_sync(full_warp, v, 8);
  return v + __shfl_xor_sync(full_warp, v, 16);
}

struct resident_scratch {
  double of_warp[resident_threads / 32][resident_sums::stride];   // of the block
  double of_group[resident_threads / 32][resident_sums::stride];  // of the parts that a warp has looked at

  /// Leaves those of a warp in of_warp.
  __device__ __forceinline__ void leave(const resident_sums& s) {
    const bool upper = lane_id() & 16, right = lane_id() & 8, odd = lane_id() & 4;
    // Every step halves what a lane has: 4, 2, 1 sums.
    const double a = (upper ? s.rr : s.pq) + __shfl_xor_sync(full_warp, upper ? s.pq : s.rr, 16);
    const double b = (upper ? 0.0 : s.zq) + __shfl_xor_sync(full_warp, upper ? s.zq : 0.0, 16);
    const double c = (upper ? 0.0 : s.qq) + __shfl_xor_sync(full_warp, upper ? s.qq : 0.0, 16);
    const double d = (upper ? 0.0 : s.rz) + __shfl_xor_sync(full_warp, upper ? s.rz : 0.0, 16);
    const double ac = (right ? c : a) + __shfl_xor_sync(full_warp, right ? a : c, 8);
    const double bd = (right ? d : b) + __shfl_xor_sync(full_warp, right ? b : d, 8);
    double one = (odd ? bd : ac) + __shfl_xor_sync(full_warp, odd ? ac : bd, 4);
    one += __shfl_xor_sync(full_warp, one, 2);
    one += __shfl_xor_sync(full_warp, one, 1);
    if (lane_id() % 4 == 0) of_warp[threadIdx.x / 32][lane_id() / 4] = one;
  }

  /// By a whole warp: the sum of a lane over all warps.
  static __device__ __forceinline__ double add(const double (&of)[resident_threads / 32][resident_sums::stride]) {
    const int warps = static_cast<int>(blockDim.x / 32);
    double sum = 0;
#pragma unroll
    for (int k = 0; k < resident_threads / 32 / 4; ++k) {
      if (4 * k + quarter() < warps) sum += of[4 * k + quarter()][sum_of_lane()];
    }
    return add_quarters(sum);
  }
};

/// Those that the lanes of a warp have, in every lane.
__device__ __forceinline__ resident_sums everywhere(double sum) {
  return {__shfl_sync(full_warp, sum, 0), __shfl_sync(full_warp, sum, 1), __shfl_sync(full_warp, sum, 2),
          __shfl_sync(full_warp, sum, 3), __shfl_sync(full_warp, sum, 4)};
}

}  // namespace tulle::cuda
