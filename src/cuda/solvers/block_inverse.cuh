// The inverse of a small symmetric positive definite block by Gauss-Jordan elimination in place: its pivots are the
// squares of the diagonal of the Cholesky factor, so that one that is not positive tells as much as the factorisation
// would.
#pragma once

#include "cuda/device/warp.cuh"

namespace tulle::cuda {

/// 1 / d to the last bit or so by two Newton steps; NaN for 0 and infinity.
__device__ __forceinline__ double reciprocal(double d) {
  double r;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(d));
  r = fma(r, fma(-d, r, 1.0), r);
  return fma(r, fma(-d, r, 1.0), r);
}

/// Columns go round by one in every step, so that the loop need not be unrolled: code that runs once is read from
/// memory. Lane lane_of(k) has row k of the lane's block, whose row i the lane itself has; all 32 lanes call it. False
/// in the lanes of a block that is not positive definite (NaN included).
template <int Block, class F>
__device__ __forceinline__ bool invert_block(double (&row)[Block], int i, F lane_of) {
  bool positive = true;
#pragma unroll 1
  for (int k = 0; k < Block; ++k) {
    const int lane = lane_of(k);
    const double pivot = __shfl_sync(full_warp, row[0], lane);
    positive = positive && pivot > 0;
    const double inverse = reciprocal(pivot);
    const double factor = row[0];
#pragma unroll
    for (int j = 1; j < Block; ++j) {
      const double scaled = __shfl_sync(full_warp, row[j], lane) * inverse;
      row[j - 1] = i == k ? scaled : fma(-factor, scaled, row[j]);
    }
    row[Block - 1] = i == k ? inverse : -factor * inverse;
  }
  return positive;
}

}  // namespace tulle::cuda
