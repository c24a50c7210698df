// The sums of a resident solver over its threads, in f64, always in the same order: four, a warp for each.
#pragma once

#include "cuda/device/warp.cuh"
#include "cuda/solvers/old0/resident_support.hpp"

namespace tulle::cuda::old0 {

/// Of r, p, q = A p; qq is q . M^-1 q, rz is r . M^-1 r.
struct resident_sums {
  static constexpr int count = 4;
  double pq, qq, rz, rr;
};

struct resident_scratch {
  double share[resident_sums::count][resident_threads];
  double all[resident_sums::count];

  __device__ __forceinline__ void put(int at, const resident_sums& s) {
    share[0][at] = s.pq;
    share[1][at] = s.qq;
    share[2][at] = s.rz;
    share[3][at] = s.rr;
  }
  /// By a whole warp: sum v over `count` shares, in every lane.
  __device__ __forceinline__ double add(int v, int count) const {
    double sum[2] = {0, 0};
#pragma unroll
    for (int u = 0; u < resident_threads / 32; ++u) {
      const int at = u * 32 + lane_id();
      if (at < count) sum[u % 2] += share[v][at];
    }
    return warp_sum(sum[0] + sum[1]);
  }
};

}  // namespace tulle::cuda
