// The kernels of a step in time on a GPU. A product on the library's packed rows (SELL-32-sigma with compressed
// columns, a warp per slice: src/cuda/spmv/packed_format.cuh) whose epilogue does with a row's sum what the step wants,
// and a pass over all cells for the hand-overs that need one. Bytes a cell besides the matrix, in f64: 8 of x and 8 of
// y, 16 of the membrane's gate where it is in the epilogue; a pass reads and writes 4 to 16 more.
// docs/notes/0022-cardiac.md.
#pragma once

#include <type_traits>

#include "cuda/device/arithmetic.cuh"
#include "cuda/runtime/launch.cuh"
#include "cuda/spmv/packed_walk.cuh"
#include "ionic.hpp"

namespace cardiac {

using tulle::index_t;

/// What rows of values V multiply, and sum in the type of: x in f64 for all.
struct whole_vector {
  const double* x;
  template <class V>
  __device__ __forceinline__ double at(index_t column) const {
    return __ldg(x + column);
  }
};
/// x in f64, rounded to f32 for rows of floats as it is read.
struct cast_vector {
  const double* x;
  template <class V>
  __device__ __forceinline__ V at(index_t column) const {
    return static_cast<V>(__ldg(x + column));
  }
};
/// x in f64, and in f32 for rows of floats.
struct vector_pair {
  const double* x64;
  const float* x32;
  template <class V>
  __device__ __forceinline__ V at(index_t column) const {
    if constexpr (std::is_same_v<V, float>) {
      return __ldg(x32 + column);
    } else {
      return __ldg(x64 + column);
    }
  }
};

/// y in f64, and in f32 where that is not null.
struct store_sum {
  double* y64;
  float* y32;

  __device__ __forceinline__ void fetch(index_t /*row*/) const {}
  __device__ __forceinline__ void put(index_t row, double sum) const {
    y64[row] = sum;
    if (y32 != nullptr) y32[row] = static_cast<float>(sum);
  }
};
/// The membrane's step on what diffused. A gate comes to L2 before its row is read and to a register only after it,
/// which leaves more of those for loads in flight.
struct react_and_store {
  reaction all;
  const double* x;
  double* y;

  __device__ __forceinline__ void fetch(index_t row) const { tulle::cuda::prefetch_l2(all.gates + row); }
  __device__ __forceinline__ void put(index_t row, double sum) const {
    const double gate = tulle::cuda::load_stream(all.gates + row);
    const double before = all.clock.times == nullptr ? 0 : __ldg(x + row);
    y[row] = all(row, before, sum, gate);
  }
};

template <class Division, class Values, class X>
__device__ __forceinline__ void sum_slice(const tulle::cuda::packed_pattern& a, const tulle::cuda::packed_slice& s,
                                          const tulle::cuda::packed_lane (&lane)[Division::lanes], const Values& values,
                                          const X& x, double (&sum)[Division::lanes]) {
  using value = typename Values::value;
  using number = decltype(x.template at<value>(0));
  number part[Division::lanes][1] = {};
  tulle::cuda::walk_slice<Division>(a, s, lane, values, [&](int h, value v, index_t column) {
    part[h][0] = tulle::cuda::multiply_add(static_cast<number>(v), x.template at<value>(column), part[h][0]);
  });
  tulle::cuda::sum_rows<Division>(s, part);
#pragma unroll
  for (int h = 0; h < Division::lanes; ++h) sum[h] = part[h][0];
}

inline constexpr int step_threads = 128;  // per block
/// Blocks per multiprocessor: fewer leave each thread more registers.
inline constexpr int few_resident = 8, many_resident = 9;
using step_division = tulle::cuda::packed_division<2, 1, 4, false>;

template <int Resident, class X, class Epilogue>
__global__ void __launch_bounds__(step_threads, Resident)
    product_kernel(tulle::cuda::packed_pattern a, const std::byte* values, X x, Epilogue epilogue) {
  using namespace tulle::cuda;
  constexpr int lanes = step_division::lanes;
  const std::int64_t i = grid_thread() / 32;
  if (i >= a.slices) return;  // whole warps
  prefetch_slice_ahead(a, i);
  const packed_slice s = load_slice(a, i);
  packed_lane lane[lanes];
  lanes_of<step_division>(a, s, lane);
#pragma unroll
  for (int h = 0; h < lanes; ++h) {
    if (lane[h].owns_row) epilogue.fetch(lane[h].row);
  }
  double sum[lanes];
  if (s.form == tulle::whole_form) {
    const stored_values<double> wide{reinterpret_cast<const double*>(values)};
    sum_slice<step_division>(a, s, lane, wide, x, sum);
  } else {
    const stored_values<float> narrow{reinterpret_cast<const float*>(values)};
    sum_slice<step_division>(a, s, lane, narrow, x, sum);
  }
#pragma unroll
  for (int h = 0; h < lanes; ++h) {
    if (lane[h].owns_row) epilogue.put(lane[h].row, sum[h]);
  }
}

/// One thread per cell: the membrane's step on `from` (where it reacts), written to what of `to` and `narrow` is not
/// null. `before`, for activation times, may be `to`.
template <bool Reacts>
__global__ void pass_over_cells(index_t cells, const double* from, double* to, float* narrow, reaction all,
                                const double* before) {
  const std::int64_t i = tulle::cuda::grid_thread();
  if (i >= cells) return;
  double v = from[i];
  if constexpr (Reacts) v = all(i, all.clock.times == nullptr ? 0 : before[i], v, all.gates[i]);
  if (to != nullptr) to[i] = v;
  if (narrow != nullptr) narrow[i] = static_cast<float>(v);
}

}  // namespace cardiac
