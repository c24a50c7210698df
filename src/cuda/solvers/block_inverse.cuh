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

/// Lane first + i has row i, `Block` neighbouring lanes a block; all 32 lanes call it. False in the lanes of a block
/// that is not positive definite (NaN included).
template <int Block>
__device__ __forceinline__ bool invert_block(double (&row)[Block], int first, int i) {
  bool positive = true;
#pragma unroll
  for (int k = 0; k < Block; ++k) {
    const double pivot = __shfl_sync(full_warp, row[k], first + k);
    positive = positive && pivot > 0;
    const double inverse = reciprocal(pivot);
    const double factor = row[k];
#pragma unroll
    for (int j = 0; j < Block; ++j) {
      if (j == k) continue;
      const double scaled = __shfl_sync(full_warp, row[j], first + k) * inverse;
      row[j] = i == k ? scaled : fma(-factor, scaled, row[j]);
    }
    row[k] = i == k ? inverse : -factor * inverse;
  }
  return positive;
}

}  // namespace tulle::cuda
