// Where blocks L L^T of the diagonal are folded away: W A W^T with W = L^-1 is what the plan of cg.graph (graph.cu)
// multiplies by. A solve goes by corrections: x = base + W^T y, where y begins at 0 whenever r = b - A base is computed
// anew, with A as it was given, so that what is reported is not that of a folded matrix.
#pragma once

#include "cuda/solvers/graph_kernels.cuh"

namespace tulle::cuda {

/// A row of a block diagonal matrix and its lane; the rows of a block have neighbouring lanes, all of one warp.
struct block_row {
  std::int64_t i;
  int block, in, first;  // rows of the block; which one; lane of the first
  bool active;
};

/// Calls f(row) in all lanes for all rows of n / block blocks.
template <class F>
__device__ __forceinline__ void over_block_rows(std::int64_t n, int block, F f) {
  const int slots = 32 / block, slot = lane_id() / block, in = lane_id() % block;
  const std::int64_t rows = n / block, groups = (rows + slots - 1) / slots, warps = grid_stride() / 32;
  for (std::int64_t group = grid_thread() / 32; group < groups; group += warps) {
    const std::int64_t row = group * slots + slot;
    f(block_row{row * block + in, block, in, slot * block % 32, slot < slots && row < rows});
  }
}

/// Row i of W v, of W^T v and of W^-1 v; v: the lane's.
template <class T>
__device__ __forceinline__ double folded(const T* w, const block_row& row, double v) {
  double sum = 0;
  for (int k = 0; k < row.block; ++k) {
    const double other = __shfl_sync(full_warp, v, row.first + k);
    if (row.active && k <= row.in) sum = fma(static_cast<double>(w[row.i * row.block + k]), other, sum);
  }
  return sum;
}
template <class T>
__device__ __forceinline__ double folded_back(const T* w, const block_row& row, double v) {
  double sum = 0;
  for (int k = 0; k < row.block; ++k) {
    const double other = __shfl_sync(full_warp, v, row.first + k);
    if (row.active && k >= row.in) {
      sum = fma(static_cast<double>(w[(row.i + k - row.in) * row.block + row.in]), other, sum);
    }
  }
  return sum;
}
template <class T>
__device__ __forceinline__ double unfolded(const T* w, const block_row& row, double v) {
  const double inverse = row.active ? 1 / static_cast<double>(w[row.i * row.block + row.in]) : 0;
  for (int k = 0; k < row.block; ++k) {
    const double other = __shfl_sync(full_warp, v * inverse, row.first + k);
    if (row.active && k < row.in) v = fma(-static_cast<double>(w[row.i * row.block + k]), other, v);
  }
  return v * inverse;
}

/// base += W^T y, y = 0, r = b; at first base is the guess.
template <class T>
__global__ void __launch_bounds__(graph_threads, graph_blocks)
    graph_begin_folded_kernel(const __grid_constant__ graph_vectors<T> a) {
  graph_state& s = *a.state;
  if (s.stopped) return;
  const T* const b = static_cast<const T*>(s.b);
  const T* const guess = static_cast<const T*>(s.x);
  const bool first = s.first != 0;
  const int pending = s.pending;
  if (blockIdx.x == 0) settle(a);
  double bb = 0, none = 0;
  over_block_rows(a.n, a.fold, [&](const block_row& row) {
    T y{0};
    if (row.active && !first) {
      y = a.x[row.i];
      for (int k = 0; k < pending; ++k) y = fma(static_cast<T>(s.steps[k]), a.p[k * a.stride + row.i], y);
    }
    const double moved = folded_back(a.inverses, row, y);
    if (!row.active) return;
    const double before = !first ? a.z[row.i] : a.zero_guess ? T{0} : guess[row.i];
    a.z[row.i] = static_cast<T>(first ? before : before + moved);
    a.x[row.i] = 0;
    a.r[row.i] = b[row.i];
    bb = fma(static_cast<double>(b[row.i]), static_cast<double>(b[row.i]), bb);
  });
  if (!sum_over_grid(bb, none, a.shares, &s.arrived)) return;
  s.rhs = sqrt(bb);
  s.target = fmax(a.rtol * s.rhs, a.atol);
}

/// Sums of r = b - A base, and r = W r.
template <class T>
__global__ void __launch_bounds__(graph_threads, graph_blocks)
    graph_anew_folded_kernel(const __grid_constant__ graph_vectors<T> a) {
  graph_state& s = *a.state;
  if (s.stopped) return;
  double rz = 0, rr = 0;
  over_block_rows(a.n, a.fold, [&](const block_row& row) {
    const double r = row.active ? a.r[row.i] : T{0};
    const T z = static_cast<T>(folded(a.inverses, row, r));
    if (!row.active) return;
    a.r[row.i] = z;
    rz = fma(static_cast<double>(z), static_cast<double>(z), rz);
    rr = fma(r, r, rr);
  });
  if (sum_over_grid(rz, rr, a.shares, &s.arrived)) judge_anew(a, rz, rr);
}

}  // namespace tulle::cuda
