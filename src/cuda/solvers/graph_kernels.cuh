// The kernels of cg.graph (graph.cu) beside the product. What begins and ends a solve, and an iteration in three
// kernels:
//   step:  r -= alpha q, z = M^-1 r, r.z and r.r, and what follows from them              (3 n values)
//   turn:  x += alpha p, p = z + beta p: x is updated where p is read anyway              (5 n values)
// z is stored, and inverse blocks are read: (2 + b) n more, b n of them in fewer bytes where conditions allow. Where z
// is r, graph_move.cuh has an iteration in two kernels. No scalar visits the host. What comes after the end of an
// iteration does nothing.
#pragma once

#include <cuda/atomic>

#include "cuda/device/grid.cuh"
#include "cuda/solvers/block_sums.cuh"
#include "cuda/solvers/graph_state.cuh"
#include "cuda/solvers/quads.cuh"

namespace tulle::cuda {

inline constexpr int graph_threads = 256;
inline constexpr int graph_blocks = 4;  // per multiprocessor, all resident

/// All threads of all blocks call it with their shares; true in thread 0 of the last block, with the sums in a and b.
__device__ __forceinline__ bool sum_over_grid(double& a, double& b, double* shares, unsigned* arrived) {
  __shared__ warp_sums sums;
  __shared__ bool last;
  leave_warp_sums(a, b, sums);
  __syncthreads();
  if (threadIdx.x < 32) {
    const double sum = add_warp_sums(sums);
    if (lane_id() % 16 == 0) shares[2 * blockIdx.x + lane_id() / 16] = sum;
    __syncwarp();
    if (lane_id() == 0) {
      const ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_device> count(*arrived);
      __threadfence();
      last = count.fetch_add(1, ::cuda::memory_order_acq_rel) == gridDim.x - 1;
    }
    __syncwarp();
  }
  __syncthreads();
  if (!last) return false;
  a = b = 0;
  for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x) {
    a += __ldcg(shares + 2 * i);
    b += __ldcg(shares + 2 * i + 1);
  }
  leave_warp_sums(a, b, sums);
  __syncthreads();
  if (threadIdx.x >= 32) return false;
  const double sum = add_warp_sums(sums);
  b = __shfl_sync(full_warp, sum, 16);
  a = sum;
  if (threadIdx.x == 0) *arrived = 0;
  return threadIdx.x == 0;
}

/// A solve begins: one thread.
static __global__ void graph_call_kernel(graph_state* state, graph_call call, unsigned long long outer) {
  *state = {};
  state->b = call.b;
  state->x = call.x;
  state->record = call.record;
  state->history = call.history;
  state->iterations = call.begun;
  state->outer = outer;
  state->first = 1;
}

/// The handle of the inner loop's condition, which exists after that of the outer one.
static __global__ void graph_inner_kernel(void* state, unsigned long long inner) {
  static_cast<graph_state*>(state)->inner = inner;
}

/// By all threads of a block: looks at what the last of two kernels left, which block 0 judges. False: it failed.
template <class T>
__device__ bool settle(const graph_vectors<T>& a) {
  graph_state& s = *a.state;
  __shared__ warp_sums sums;
  __shared__ bool is_number;
  if (!s.owes) return !s.failed;
  double rz = 0, rr = 0;
  add_pairs(a.move_shares + 2 * s.side * gridDim.x, threadIdx.x, gridDim.x, blockDim.x, rz, rr);
  leave_warp_sums(rz, rr, sums);
  __syncthreads();
  if (threadIdx.x < 32) {
    const double sum = add_warp_sums(sums);
    rr = __shfl_sync(full_warp, sum, 16);
    if (threadIdx.x == 0) is_number = graph_finite(sum);
    if (blockIdx.x == 0 && threadIdx.x == 0) judge_sums(a, sum, rr, s.exact != 0, s);
  }
  __syncthreads();
  return is_number;
}

/// x += what is pending, r = D^-1/2 b; at first x = D^1/2 of the guess.
template <class T>
__global__ void __launch_bounds__(graph_threads, graph_blocks)
    graph_begin_kernel(const __grid_constant__ graph_vectors<T> a) {
  graph_state& s = *a.state;
  if (s.stopped) return;
  const T* const b = static_cast<const T*>(s.b);
  const T* const x = static_cast<const T*>(s.x);
  const bool first = s.first != 0;
  const int pending = s.pending;
  if (blockIdx.x == 0) settle(a);
  double bb = 0, none = 0;
  for (std::int64_t i = grid_thread(); i < a.n; i += grid_stride()) {
    const T root = a.roots != nullptr ? a.roots[i] : T{1};
    const double value = b[i];
    bb = fma(value, value, bb);
    a.r[i] = static_cast<T>(value / root);
    if (first) a.x[i] = a.zero_guess ? T{0} : x[i] * root;
    for (int k = 0; k < pending; ++k) {
      a.x[i] = fma(static_cast<T>(s.steps[k]), a.p[k * a.stride + i], a.x[i]);
    }
  }
  if (!sum_over_grid(bb, none, a.shares, &s.arrived)) return;
  s.rhs = sqrt(bb);
  s.target = fmax(a.rtol * s.rhs, a.atol);
}

/// Sums of r.z and r.r and z = M^-1 r over block rows, a group of `Block` lanes each; before that update(i) makes r[i].
template <int Block, class T, class F>
__device__ __forceinline__ void with_blocks(const graph_vectors<T>& a, double& rz, double& rr, F update) {
  constexpr int slots = 32 / Block;
  const std::int64_t rows = a.n / Block, groups = (rows + slots - 1) / slots, warps = grid_stride() / 32;
  const int slot = lane_id() / Block, in = lane_id() % Block;
  for (std::int64_t group = grid_thread() / 32; group < groups; group += warps) {
    const std::int64_t row = group * slots + slot, i = row * Block + in;
    const bool active = slot < slots && row < rows;
    inverse_row<Block, T, T> part;
    T r{0}, z{0};
    if (active) {
      part.load(a.blocks, group, slot, in);
      r = update(i);
    }
#pragma unroll
    for (int j = 0; j < Block; ++j) {
      const T other = __shfl_sync(full_warp, r, (slot * Block + j) % 32);
      if (active) z = fma(part[j], other, z);
    }
    if (!active) continue;
    a.z[i] = z;
    rz = fma(static_cast<double>(r), static_cast<double>(z), rz);
    rr = fma(static_cast<double>(r), static_cast<double>(r), rr);
  }
}

/// Sums of r = b - A x, and M^-1 r.
template <int Block, class T>
__global__ void __launch_bounds__(graph_threads, graph_blocks)
    graph_anew_kernel(const __grid_constant__ graph_vectors<T> a) {
  graph_state& s = *a.state;
  if (s.stopped) return;
  double rz = 0, rr = 0;
  if constexpr (Block > 0) {
    with_blocks<Block>(a, rz, rr, [&](std::int64_t i) { return a.r[i]; });
  } else {
    for (std::int64_t i = grid_thread(); i < a.n; i += grid_stride()) {
      const double r = a.r[i], root = a.roots != nullptr ? a.roots[i] : T{1};
      rz = fma(r, r, rz);
      rr = fma(r * root, r * root, rr);
    }
  }
  if (sum_over_grid(rz, rr, a.shares, &s.arrived)) judge_anew(a, rz, rr);
}

/// Calls f(first) for the quads of n / size, `Unroll` at a time, a grid apart; and tail(i) for what is left.
template <int Unroll, class T, class F, class Tail>
__device__ __forceinline__ void over_quads(std::int64_t n, F f, Tail tail) {
  const std::int64_t quads = n / quad<T>::size;
  for (std::int64_t first = grid_thread(); first < quads; first += Unroll * grid_stride()) f(first, quads);
  const std::int64_t rest = quads * quad<T>::size + grid_thread();
  if (rest < n) tail(rest);
}

template <int Block, class T>
__global__ void __launch_bounds__(graph_threads, graph_blocks)
    graph_step_kernel(const __grid_constant__ graph_vectors<T> a) {
  start_dependents();
  await_previous_grid();
  graph_state& s = *a.state;
  const bool one = blockIdx.x == 0 && threadIdx.x == 0;
  const double pq = *a.dots, before = s.rz;
  const bool runs = s.running != 0;
  if (!runs) {
    if (one) s.turns = 0;
    return;
  }
  const double alpha = before / pq;
  if (!graph_finite(pq) || pq <= 0 || !graph_finite(alpha)) {
    if (!one) return;
    s.turns = 0;
    judge_direction(before, pq, s);
    return tell_pause(a, s);
  }
  const T scale = static_cast<T>(-alpha);
  double rz = 0, rr = 0;
  with_blocks<Block>(a, rz, rr, [&](std::int64_t i) { return a.r[i] = fma(scale, a.q[i], a.r[i]); });
  if (!sum_over_grid(rz, rr, a.shares, &s.arrived)) return;
  judge_direction(before, pq, s);
  judge_step(a, rz, rr);
}

/// `Moves`: x is updated too.
template <bool Moves, class T>
__global__ void __launch_bounds__(graph_threads, graph_blocks)
    graph_turn_kernel(const __grid_constant__ graph_vectors<T> a) {
  constexpr int unroll = 2, size = quad<T>::size;
  auto* const x4 = reinterpret_cast<quad<T>*>(a.x);
  auto* const p4 = reinterpret_cast<quad<T>*>(a.p);
  const T* const from = Moves ? a.p : a.p + a.state->slot * a.stride;  // the direction as it is
  const auto* const from4 = reinterpret_cast<const quad<T>*>(from);
  const T* const to_turn = a.fold > 0 ? a.r : a.z;
  const auto* const z4 = reinterpret_cast<const quad<T>*>(to_turn);
  const std::int64_t quads = a.n / size;
  quad<T> x[unroll], p[unroll], z[unroll];
  const auto load = [&](std::int64_t first) {
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const std::int64_t i = first + u * grid_stride();
      if (i >= quads) continue;
      p[u] = from4[i];
      if (Moves) {
        const int4 bits = __ldcs(reinterpret_cast<const int4*>(x4 + i));
        x[u] = reinterpret_cast<const quad<T>&>(bits);
      }
    }
  };
  load(grid_thread());  // x and p are as they were before the step
  await_previous_grid();
  const graph_state& s = *a.state;
  const double exact_beta = s.beta;
  const T alpha = static_cast<T>(s.alpha), beta = static_cast<T>(exact_beta);
  const bool moves = Moves && s.turns != 0, turns = s.running != 0;
  if (!moves && !turns) return;
  const bool fresh = exact_beta == 0;  // p may hold anything
  over_quads<unroll, T>(
      a.n,
      [&](std::int64_t first, std::int64_t) {
        if (first != grid_thread()) load(first);
#pragma unroll
        for (int u = 0; u < unroll; ++u) {
          const std::int64_t i = first + u * grid_stride();
          if (i < quads && turns) z[u] = z4[i];
        }
#pragma unroll
        for (int u = 0; u < unroll; ++u) {
          const std::int64_t i = first + u * grid_stride();
          if (i >= quads) continue;
          if (moves) {
#pragma unroll
            for (int v = 0; v < size; ++v) x[u].v[v] = fma(alpha, p[u].v[v], x[u].v[v]);
            __stcs(reinterpret_cast<int4*>(x4 + i), reinterpret_cast<const int4&>(x[u]));
          }
          if (turns) {
#pragma unroll
            for (int v = 0; v < size; ++v) p[u].v[v] = fresh ? z[u].v[v] : fma(beta, p[u].v[v], z[u].v[v]);
            p4[i] = p[u];
          }
        }
      },
      [&](std::int64_t i) {
        const T before = from[i];
        if (moves) a.x[i] = fma(alpha, before, a.x[i]);
        if (turns) a.p[i] = fresh ? to_turn[i] : fma(beta, before, to_turn[i]);
      });
}

/// dots = {p.q, q.q}, where the product does not leave them. Its sums use the step's memory, which is free then.
template <class T>
__global__ void __launch_bounds__(graph_threads, graph_blocks)
    graph_dot_kernel(const __grid_constant__ graph_vectors<T> a, const T* p, double* dots) {
  double pq = 0, qq = 0;
  if (!a.state->running) return;
  for (std::int64_t i = grid_thread(); i < a.n; i += grid_stride()) {
    pq = fma(static_cast<double>(p[i]), static_cast<double>(a.q[i]), pq);
    qq = fma(static_cast<double>(a.q[i]), static_cast<double>(a.q[i]), qq);
  }
  if (!sum_over_grid(pq, qq, a.shares, &a.state->arrived)) return;
  dots[0] = pq;
  dots[1] = qq;
}

/// By one thread: the record of a solve.
__device__ __forceinline__ void leave_record(const graph_state& s) {
  *s.record = {s.stopped ? s.code : static_cast<std::int32_t>(status::not_converged), s.iterations, s.residual, s.rhs};
}

/// The solution, where the caller wants it, and the record.
template <class T>
__global__ void graph_end_kernel(const __grid_constant__ graph_vectors<T> a) {
  const graph_state& s = *a.state;
  T* const x = static_cast<T*>(s.x);
  if (s.iterations > 0 || a.zero_guess || s.rhs == 0) {
    for (std::int64_t i = grid_thread(); i < a.n; i += grid_stride()) {
      x[i] = s.rhs == 0 ? T{0} : a.fold > 0 ? a.z[i] : a.roots != nullptr ? a.x[i] / a.roots[i] : a.x[i];
    }
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) leave_record(s);
}

}  // namespace tulle::cuda
