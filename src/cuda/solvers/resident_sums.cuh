// The sums of a resident solver over its threads, in f64, always in the same order: four, a warp for each.
#pragma once

#include "cuda/device/warp.cuh"
#include "cuda/solvers/resident_support.hpp"

namespace tulle::cuda {

/// Of r, p, q = A p; qq is q . M^-1 q, rz is r . M^-1 r.
struct resident_sums {
  static constexpr int count = 4;
  double pq, qq, rz, rr;
};

/// Over a warp, in every lane, by two products of matrices with ones: shuffles would take five steps of 35 cycles.
__device__ __forceinline__ double warp_total(double v) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  double c, d;
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%4, %5};"
      : "=d"(c), "=d"(d)
      : "d"(1.0), "d"(v), "d"(0.0), "d"(0.0));
  const double of_two = c + d;
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%4, %5};"
      : "=d"(c), "=d"(d)
      : "d"(1.0), "d"(of_two), "d"(0.0), "d"(0.0));
  return c;
#else
  return warp_sum(v);
#endif
}

struct resident_scratch {
  double share[resident_sums::count][resident_threads];  // of every thread
  double all[resident_sums::count];

  __device__ __forceinline__ void put_product(double pq, double qq) {
    share[0][threadIdx.x] = pq;
    share[1][threadIdx.x] = qq;
  }
  __device__ __forceinline__ void put_residual(double rz, double rr) {
    share[2][threadIdx.x] = rz;
    share[3][threadIdx.x] = rr;
  }
  /// By a whole warp: sum v over all threads, in every lane.
  template <bool Shuffles>
  __device__ __forceinline__ double add(int v) const {
    double2 of[resident_threads / 64];
#pragma unroll
    for (int u = 0; u < resident_threads / 64; ++u)
      of[u] = *reinterpret_cast<const double2*>(&share[v][u * 64 + 2 * lane_id()]);
    double sum = (of[0].x + of[0].y) + (of[1].x + of[1].y);
    sum += (of[2].x + of[2].y) + (of[3].x + of[3].y);
    return Shuffles ? warp_sum(sum) : warp_total(sum);
  }
};

}  // namespace tulle::cuda
