// How many lanes of a warp share a row, and what one of them sums, for the kernels that give each row a group of lanes.
#pragma once

#include <tulle/formats/stats.hpp>
#include <tulle/ops/spmv.hpp>

#include "cuda/device/load.cuh"
#include "cuda/device/warp.cuh"
#include "cuda/spmv/csr_operator.cuh"

namespace tulle::cuda {

/// Enough loads in flight, few idle lanes.
constexpr double most_entries_per_lane = 3.5;

inline int pick_lanes(const csr_stats& s, const spmv_options& o) {
  if (o.lanes > 0) return o.lanes;
  int lanes = 1;
  while (lanes < 32 && s.mean > most_entries_per_lane * lanes) lanes *= 2;
  return lanes;
}

/// Calls f.operator()<Lanes>() for the number of lanes given.
template <class F>
void with_lanes(int lanes, F&& f) {
  with_constant<1, 2, 4, 8, 16, 32>(lanes, f);
}

/// Sum of every Lanes-th product of a row, from its product number `lane` on.
template <int Lanes, class T, class O>
__device__ __forceinline__ T sum_share(const csr_view<T, O>& a, std::int64_t row, int lane, const T* __restrict__ x) {
  T sum{0};
  const O end = a.rowptr[row + 1];
#pragma unroll 4
  for (O k = a.rowptr[row] + lane; k < end; k += Lanes) {
    sum = multiply_add(load_stream(a.values + k), __ldg(x + load_stream(a.colind + k)), sum);
  }
  return sum;
}

}  // namespace tulle::cuda
