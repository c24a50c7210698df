// An iteration of cg.graph (graph.cu) in two kernels, where z is r: the product, and
//   move:  r -= alpha q, p' = r + beta p, r.r; x += what is pending, once in a.ring times     (5 n, and then ring + 1)
// All that it needs to know beforehand are sums that the product and the move before left (judge_move). The first
// blocks add them up, each its part, and tell all others, who have begun to load vectors meanwhile: no kernel and no
// barrier stands between the product and this.
#pragma once

#include "cuda/solvers/graph_fold.cuh"

namespace tulle::cuda {

inline constexpr int graph_tellers = 32;   // blocks that add up, at most: a lane polls each
inline constexpr int graph_words = 4 * 2;  // of what one tells: 32 bits of data and the exchange's number each

__device__ __forceinline__ void tell_double(std::uint64_t* to, double value, unsigned number) {
  const auto word = [&](int half) { return (std::uint64_t{number} << 32) | static_cast<unsigned>(half); };
  const std::uint64_t low = word(__double2loint(value)), high = word(__double2hiint(value));
  asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(low), "l"(high) : "memory");
}
__device__ __forceinline__ bool hear_double(const std::uint64_t* from, unsigned number, double& value) {
  std::uint64_t low, high;
  asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(low), "=l"(high) : "l"(from) : "memory");
  value = __hiloint2double(static_cast<int>(high), static_cast<int>(low));
  return low >> 32 == number && high >> 32 == number;
}

/// By all threads of block `teller` of `tellers`: its part of the sums.
template <class T>
__device__ __forceinline__ void tell_sums(const graph_vectors<T>& a, unsigned number, unsigned tellers) {
  __shared__ warp_sums of_product, of_move;
  const std::int64_t first = blockIdx.x * blockDim.x + threadIdx.x, step = std::int64_t{tellers} * blockDim.x;
  double pq = 0, qq = 0, rz = 0, rr = 0;
  add_pairs(a.move_shares, first, gridDim.x, step, rz, rr);
  add_pairs(a.product_shares, first, a.product_count, step, pq, qq);
  leave_warp_sums(pq, qq, of_product);
  leave_warp_sums(rz, rr, of_move);
  __syncthreads();
  if (threadIdx.x >= 32) return;
  const double product = add_warp_sums(of_product), move = add_warp_sums(of_move);
  if (lane_id() % 16 == 0) {
    std::uint64_t* const to = a.words + blockIdx.x * graph_words + lane_id() / 8;
    tell_double(to, product, number);
    tell_double(to + 4, move, number);
  }
  __syncwarp();
}

/// By a whole warp: the sums, in every lane.
template <class T>
__device__ __forceinline__ graph_sums hear_sums(const graph_vectors<T>& a, unsigned number, unsigned tellers) {
  graph_sums s{};
  if (lane_id() < tellers) {
    const std::uint64_t* const from = a.words + lane_id() * graph_words;
    bool all;
    do {
      all = hear_double(from, number, s.pq);
      all = hear_double(from + 2, number, s.qq) && all;
      all = hear_double(from + 4, number, s.rz) && all;
      all = hear_double(from + 6, number, s.rr) && all;
    } while (!all);
  }
  __syncwarp();
#pragma unroll
  for (int d = 16; d > 0; d /= 2) {
    s.pq += __shfl_xor_sync(full_warp, s.pq, d);
    s.qq += __shfl_xor_sync(full_warp, s.qq, d);
    s.rz += __shfl_xor_sync(full_warp, s.rz, d);
    s.rr += __shfl_xor_sync(full_warp, s.rr, d);
  }
  return s;
}

template <class T>
__device__ __forceinline__ quad<T> load_streaming(const quad<T>* from) {
  const int4 bits = __ldcs(reinterpret_cast<const int4*>(from));
  return reinterpret_cast<const quad<T>&>(bits);
}
template <class T>
__device__ __forceinline__ quad<T> load_l2(const quad<T>* from) {
  const int4 bits = __ldcg(reinterpret_cast<const int4*>(from));
  return reinterpret_cast<const quad<T>&>(bits);
}
__device__ __forceinline__ unsigned long long now_ns() {
  unsigned long long t;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t)::"memory");
  return t;
}
template <class T>
__device__ __forceinline__ void stamp(const graph_vectors<T>& a, int i, int what) {
  if (a.trace != nullptr && threadIdx.x == 0 && i < 8) a.trace[(i * 1024 + blockIdx.x) * 8 + what] = now_ns();
}
template <class T>
__device__ __forceinline__ void axpy(T factor, const quad<T>& x, quad<T>& y) {
#pragma unroll
  for (int v = 0; v < quad<T>::size; ++v) y.v[v] = fma(factor, x.v[v], y.v[v]);
}

/// What is decided of this move, in the block's copy of the state; block 0 leaves it for the next.
template <class T>
__device__ __forceinline__ void decide(const graph_vectors<T>& a, int parity, int slot, graph_state& s) {
  const unsigned tellers = min(gridDim.x, static_cast<unsigned>(graph_tellers));
  const auto number = [&] { return s.number == ~0u ? 1 : s.number + 1; };
  if (blockIdx.x < tellers && s.running) tell_sums(a, number(), tellers);
  if (threadIdx.x < 32) {
    const bool runs = s.running != 0;
    graph_sums sums{};
    if (runs) sums = hear_sums(a, number(), tellers);
    if (threadIdx.x == 0) {
      s.number = number();
      judge_move(a, sums, slot, s);
      if (blockIdx.x == 0) {
        if (runs && !s.running) tell_pause(a, s);
        a.state[parity ^ 1] = s;
      }
    }
    __syncwarp();
  }
  __syncthreads();
}

/// The block's sums, for the next move.
template <class T>
__device__ __forceinline__ void leave_sums(const graph_vectors<T>& a, double rz, double rr) {
  __shared__ warp_sums sums;
  leave_warp_sums(rz, rr, sums);
  __syncthreads();
  if (threadIdx.x >= 32) return;
  const double sum = add_warp_sums(sums);
  if (lane_id() % 16 == 0) a.move_shares[2 * blockIdx.x + lane_id() / 16] = sum;
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
    graph_move_kernel(const __grid_constant__ graph_vectors<T> a, int parity, int slot_and_number) {
  const int slot = slot_and_number & 255, number = slot_and_number >> 8;
  stamp(a, number, 0);
  if (a.trial & 4) start_dependents();
  const bool streams = (a.trial & 1) != 0, discards = (a.trial & 2) != 0 && a.n % (8 * quad<T>::size) == 0;
  constexpr int unroll = Ring > 1 ? 1 : 2, size = quad<T>::size;
  __shared__ graph_state s;
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
      r[u] = streams ? load_streaming(r4 + (quads - 1 - i)) : load_l2(r4 + (quads - 1 - i));
      p[u] = streams ? load_streaming(from4 + (quads - 1 - i)) : load_l2(from4 + (quads - 1 - i));
    }
  };
  const auto load_product = [&](std::int64_t first) {
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const std::int64_t i = first + u * grid_stride();
      if (i < quads) q[u] = load_streaming(q4 + (quads - 1 - i));
    }
  };
  load(grid_thread());  // as the move before left them
  if (threadIdx.x == 0) s = a.state[parity];
  __syncthreads();
  await_previous_grid();
  stamp(a, number, 1);
  load_product(grid_thread());
  decide(a, parity, slot, s);
  stamp(a, number, 2);
  if (!s.moves) return;
  const T step = static_cast<T>(-s.alpha), beta = static_cast<T>(s.beta);
  const bool turns = s.turns != 0, exact = s.exact != 0;
  double rz = 0, rr = 0;
  if (exact && a.fold > 0) {
    move_rows<Ring>(a, s, p_from, p_to, rz, rr);
    return leave_sums(a, rz, rr);
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
      if (streams) {
        __stcs(reinterpret_cast<int4*>(r4 + at), reinterpret_cast<const int4&>(r[u]));
      } else {
        r4[at] = r[u];
      }
      if (discards) {
        __syncwarp(__activemask());
        if (at % 8 == 0) asm volatile("discard.global.L2 [%0], 128;" ::"l"(q4 + at) : "memory");
      }
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
  leave_sums(a, rz, rr);
  stamp(a, number, 3);
}

}  // namespace tulle::cuda
