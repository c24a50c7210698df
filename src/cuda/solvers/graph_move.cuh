// An iteration of cg.graph (graph.cu) in two kernels, where z is r: the product, and
//   move:  r -= alpha q, p' = r + beta p, r.r; x += what is pending, once in a.ring times     (5 n, and then ring + 1)
// All that it needs to know beforehand are sums that the product and the move before left (judge_move). They are few,
// so that every block adds them up itself, while its first part of r, p and q is on its way: no kernel and no exchange
// between blocks stands between the product and this.
#pragma once

#include "cuda/solvers/graph_fold.cuh"

namespace tulle::cuda {

/// What is decided of this move, in the block's copy of the state; block 0 leaves it for the next. The sums of the move
/// before are in `of_move`.
template <class T>
__device__ __forceinline__ void decide(const graph_vectors<T>& a, int parity, int slot, const graph_sums& product,
                                       const warp_sums& of_move, graph_state& s) {
  if (threadIdx.x < 32) {
    const double both = add_warp_sums(of_move);
    const double rr = __shfl_sync(full_warp, both, 16);
    if (threadIdx.x == 0) {
      const bool runs = s.running != 0;
      if (blockIdx.x == 0 && runs && s.owes && a.tells) {
        tell(a, s.iterations, s.unit * sqrt(s.exact ? rr : a.range[1] * both));
      }
      judge_move(a, {product.pq, product.qq, both, rr}, slot, parity ^ 1, s);
      if (blockIdx.x == 0) {
        if (runs && !s.running) tell_pause(a, s);
        a.state[parity ^ 1] = s;
      }
    }
    __syncwarp();
  }
  __syncthreads();
}

/// By the first warp: the sums that the product left, in its first lane.
template <class T>
__device__ __forceinline__ graph_sums sums_of_product(const graph_vectors<T>& a) {
  graph_sums s{};
  if (threadIdx.x >= 32) return s;
  add_pairs(a.product_shares, lane_id(), a.product_count, 32, s.pq, s.qq);
#pragma unroll
  for (int d = 16; d > 0; d /= 2) {
    s.pq += __shfl_xor_sync(full_warp, s.pq, d);
    s.qq += __shfl_xor_sync(full_warp, s.qq, d);
  }
  return s;
}

/// The block's sums, for the next move.
template <class T>
__device__ __forceinline__ void leave_sums(const graph_vectors<T>& a, int side, double rz, double rr) {
  __shared__ warp_sums sums;
  leave_warp_sums(rz, rr, sums);
  __syncthreads();
  if (threadIdx.x >= 32) return;
  const double sum = add_warp_sums(sums);
  if (lane_id() % 16 == 0) a.move_shares[2 * (side * gridDim.x + blockIdx.x) + lane_id() / 16] = sum;
}

/// A move where ||r|| is asked for and blocks are folded away: by rows, so that a block's are at hand together.
template <int Ring, class T>
__device__ __forceinline__ void move_rows(const graph_vectors<T>& a, const graph_state& s, const T* p_from, T* p_to,
                                          double& rz, double& rr) {
  const T step = static_cast<T>(-s.alpha), beta = static_cast<T>(s.beta);
  over_block_rows(a.n, a.fold, [&](const block_row& row) {
    T r{0}, p{0};
    if (row.active) {
      p = p_from[row.i];
      r = a.r[row.i] = fma(step, a.q[row.i], a.r[row.i]);
      if constexpr (Ring > 0) {
        T x = a.x[row.i];
        for (int k = 0; k < Ring - 1; ++k) x = fma(static_cast<T>(s.steps[k]), a.p[k * a.stride + row.i], x);
        a.x[row.i] = fma(-step, p, x);
      }
      if (s.turns) p_to[row.i] = fma(beta, p, r);
      rz = fma(static_cast<double>(r), static_cast<double>(r), rz);
    }
    const double true_r = unfolded(a.inverses, row, static_cast<double>(r));
    if (row.active) rr = fma(true_r, true_r, rr);
  });
}

/// `Ring`: x is updated too, from so many directions; 0: it is not. `slot`: of p. `parity`: of moves.
template <int Ring, class T>
__global__ void __launch_bounds__(graph_threads, graph_blocks)
    graph_move_kernel(const __grid_constant__ graph_vectors<T> a, int parity, int slot) {
  constexpr int unroll = Ring > 1 ? 1 : 2, size = quad<T>::size;
  __shared__ graph_state s;
  __shared__ warp_sums of_move;
  T* const p_from = a.p + slot * a.stride;
  T* const p_to = a.p + (slot + 1) % a.ring * a.stride;
  auto* const r4 = reinterpret_cast<quad<T>*>(a.r);
  auto* const x4 = reinterpret_cast<quad<T>*>(a.x);
  const auto* const q4 = reinterpret_cast<const quad<T>*>(a.q);
  const auto* const from4 = reinterpret_cast<const quad<T>*>(p_from);
  const std::int64_t quads = a.n / size;  // backward: the product left the end of q in L2
  quad<T> r[unroll], p[unroll], q[unroll];
  const auto load = [&](std::int64_t first) {
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const std::int64_t i = first + u * grid_stride();
      if (i >= quads) continue;
      r[u] = load_l2(r4 + (quads - 1 - i));
      p[u] = load_l2(from4 + (quads - 1 - i));
    }
  };
  const auto load_product = [&](std::int64_t first) {
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const std::int64_t i = first + u * grid_stride();
      if (i < quads) q[u] = load_streaming(q4 + (quads - 1 - i));
    }
  };
  double rz = 0, rr = 0;
  load(grid_thread());  // as the move before left them
  if (threadIdx.x == 0) s = a.state[parity];
  add_pairs(a.move_shares + 2 * parity * gridDim.x, threadIdx.x, gridDim.x, blockDim.x, rz, rr);
  leave_warp_sums(rz, rr, of_move);
  __syncthreads();
  await_previous_grid();
  const graph_sums product = sums_of_product(a);
  load_product(grid_thread());
  decide(a, parity, slot, product, of_move, s);
  if (!s.moves) return;
  rz = rr = 0;
  const T step = static_cast<T>(-s.alpha), beta = static_cast<T>(s.beta);
  const bool turns = s.turns != 0, exact = s.exact != 0;
  if (exact && a.fold > 0) {
    move_rows<Ring>(a, s, p_from, p_to, rz, rr);
    return leave_sums(a, parity ^ 1, rz, rr);
  }
  for (std::int64_t first = grid_thread(); first < quads; first += unroll * grid_stride()) {
    if (first != grid_thread()) {
      load(first);
      load_product(first);
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const std::int64_t i = first + u * grid_stride(), at = quads - 1 - i;
      if (i >= quads) continue;
      if constexpr (Ring > 0) {
        quad<T> x = load_streaming(x4 + at), older[Ring > 1 ? Ring - 1 : 1];
#pragma unroll
        for (int k = 0; k < Ring - 1; ++k)
          older[k] = load_streaming(reinterpret_cast<const quad<T>*>(a.p + k * a.stride) + at);
#pragma unroll
        for (int k = 0; k < Ring - 1; ++k) axpy(static_cast<T>(s.steps[k]), older[k], x);
        axpy(-step, p[u], x);
        __stcs(reinterpret_cast<int4*>(x4 + at), reinterpret_cast<const int4&>(x));
      }
      axpy(step, q[u], r[u]);
      r4[at] = r[u];
#pragma unroll
      for (int v = 0; v < size; ++v) {
        rz = fma(static_cast<double>(r[u].v[v]), static_cast<double>(r[u].v[v]), rz);
        if (!exact) continue;
        const double root = a.roots[at * size + v], true_r = static_cast<double>(r[u].v[v]) * root;
        rr = fma(true_r, true_r, rr);
      }
      if (turns) {
        axpy(beta, p[u], r[u]);
        reinterpret_cast<quad<T>*>(p_to)[at] = r[u];
      }
    }
  }
  const std::int64_t i = quads * size + grid_thread();  // what is no quad
  if (i < a.n) {
    const T before = p_from[i], now = a.r[i] = fma(step, a.q[i], a.r[i]);
    if constexpr (Ring > 0) {
      T x = a.x[i];
      for (int k = 0; k < Ring - 1; ++k) x = fma(static_cast<T>(s.steps[k]), a.p[k * a.stride + i], x);
      a.x[i] = fma(-step, before, x);
    }
    rz = fma(static_cast<double>(now), static_cast<double>(now), rz);
    if (exact) rr = fma(static_cast<double>(now) * a.roots[i], static_cast<double>(now) * a.roots[i], rr);
    if (turns) p_to[i] = fma(beta, before, now);
  }
  leave_sums(a, parity ^ 1, rz, rr);
}

}  // namespace tulle::cuda
