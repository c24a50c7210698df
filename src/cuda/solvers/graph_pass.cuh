// An iteration of cg.graph (graph.cu) in one kernel, where the product is packed's and vectors pass L2: block t renews
// a chunk of r, p and x as graph_move.cuh does, says so by a number, and multiplies the rows of a few slices some blocks
// behind, once all that they read is renewed (Kronbichler, Sashko, Munch, Enhancing data locality of the conjugate
// gradient method for high-order matrix-free finite-element implementations, IJHPCA 2023). p is read once in place of
// twice, and one boundary between kernels falls away. Blocks start in the order of their numbers.
#pragma once

#include <climits>

#include "cuda/solvers/graph_move.cuh"
#include "cuda/spmv/fused_operator.cuh"
#include "cuda/spmv/packed_slices.hpp"
#include "cuda/spmv/packed_walk.cuh"

namespace tulle::cuda {

inline constexpr int pass_threads = 128, pass_warps = pass_threads / 32, pass_blocks = 9;  // per multiprocessor
inline constexpr int pass_chunk = 2 * pass_threads;                                        // rows that a block renews
struct pass_division : packed_division<2, 1, 4, false> {};

template <class T>
struct pass_view {
  packed_pattern a;
  const T* values;
  dot_pairs product[2], residual[2];  // sums that a pass leaves, in two places
  dot_shares product_shares[2], residual_shares[2];
  const int2* needs;     // first and last chunk that the rows of a block read
  std::int64_t products, lag;
  unsigned* renewed;     // for each chunk the last pass that renewed it,
  unsigned* passes;      // of so many
};

/// The chunks that rows of a window read or are.
template <class O>
__global__ void __launch_bounds__(block_threads)
    windows_kernel(index_t rows, const O* rowptr, const index_t* colind, int2* windows) {
  const std::int64_t first = std::int64_t{blockIdx.x} * packed_window, last = min(first + packed_window, std::int64_t{rows});
  __shared__ int low, high;
  if (threadIdx.x == 0) low = static_cast<int>(first), high = static_cast<int>(last - 1);
  __syncthreads();
  int least = static_cast<int>(first), most = least;
  for (O k = rowptr[first] + static_cast<O>(threadIdx.x); k < rowptr[last]; k += block_threads) {
    least = min(least, colind[k]);
    most = max(most, colind[k]);
  }
  least = warp_min(least), most = warp_max(most);
  if (lane_id() == 0) atomicMin(&low, least), atomicMax(&high, most);
  __syncthreads();
  if (threadIdx.x == 0) windows[blockIdx.x] = {low / pass_chunk, high / pass_chunk};
}
/// What the slices of each block need, and how far that lies before it.
inline __global__ void needs_kernel(packed_pattern a, std::int64_t products, const int2* windows, int2* needs,
                                    int* ahead) {
  const std::int64_t i = grid_thread();
  if (i >= products) return;
  int2 need{INT_MAX, 0};
  for (std::int64_t k = i * pass_warps; k < min((i + 1) * pass_warps, a.slices); ++k) {
    const int2 w = windows[a.slice[k].order / packed_window];
    need = {min(need.x, w.x), max(need.y, w.y)};
  }
  needs[i] = need;
  atomicMax(ahead, static_cast<int>(need.y - i));
}

__device__ __forceinline__ unsigned load_number(const unsigned* from) {
  unsigned v;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(from) : "memory");
  return v;
}

/// By all threads: what is decided of this pass (graph_move.cuh).
template <class T>
__device__ __forceinline__ void decide(const graph_vectors<T>& a, const pass_view<T>& w, int parity, int slot,
                                       graph_state& s, unsigned& number) {
  if (threadIdx.x < 32) {
    graph_sums sums{};
    add_pairs(w.product[parity].data, lane_id(), w.product[parity].count, 32, sums.pq, sums.qq);
    add_pairs(w.residual[parity].data, lane_id(), w.residual[parity].count, 32, sums.rz, sums.rr);
    if (lane_id() == 0) {
      s = a.state[parity];
      number = w.passes[parity] + 1;
    }
    const double product = warp_sum_pair(sums.pq, sums.qq), residual = warp_sum_pair(sums.rz, sums.rr);
    const double qq = __shfl_sync(full_warp, product, 16), rr = __shfl_sync(full_warp, residual, 16);
    if (lane_id() == 0) {
      const bool runs = s.running != 0;
      judge_move(a, {product, qq, residual, rr}, slot, parity ^ 1, s);
      if (blockIdx.x == 0) {
        if (runs && !s.running) tell_pause(a, s);
        a.state[parity ^ 1] = s;
        w.passes[parity ^ 1] = number;
      }
    }
  }
  __syncthreads();
}

/// `Moves`: else the first product after a start. `updates`: x takes what is pending.
template <bool Moves, class T>
__global__ void __launch_bounds__(pass_threads, pass_blocks)
    graph_pass_kernel(const __grid_constant__ graph_vectors<T> a, const __grid_constant__ pass_view<T> w, int parity,
                      int slot, bool updates) {
  constexpr int size = quad<T>::size;
  __shared__ graph_state s;
  __shared__ unsigned number;
  const int side = Moves ? parity ^ 1 : parity;
  T* const p_to = a.p + (Moves ? (slot + 1) % a.ring : slot) * a.stride;
  const std::int64_t product = std::int64_t{blockIdx.x} - w.lag, i = product * pass_warps + threadIdx.x / 32;
  const bool multiplies = product >= 0 && i < w.a.slices;
  packed_slice slice{};
  if (multiplies) slice = load_slice(w.a, i);
  store_with_dots<T> residual{{}, nullptr, {}, w.residual_shares[side]};
  bool turns = true;
  if constexpr (Moves) {
    await_previous_grid();
    const std::int64_t at = std::int64_t{blockIdx.x} * (pass_chunk / size) + threadIdx.x;
    const bool renews = threadIdx.x < pass_chunk / size && at * size < a.n;
    auto* const r4 = reinterpret_cast<quad<T>*>(a.r) + at;
    quad<T> r{}, p{}, q{};
    if (renews) {
      r = load_l2(r4);
      p = load_l2(reinterpret_cast<const quad<T>*>(a.p + slot * a.stride) + at);
      q = load_streaming(reinterpret_cast<const quad<T>*>(a.q) + at);
    }
    decide(a, w, parity, slot, s, number);
    if (!s.moves) return;
    turns = s.turns != 0;
    const int2 need = turns && product >= 0 && product < w.products ? w.needs[product] : int2{0, -1};
    bool ready = true;
    for (int k = need.x + static_cast<int>(threadIdx.x); k <= need.y; k += pass_threads)
      ready = ready && load_number(w.renewed + k) == number;
    if (renews) {
      const T step = static_cast<T>(-s.alpha), beta = static_cast<T>(s.beta);
      if (updates) {
        auto* const to = reinterpret_cast<quad<T>*>(a.x) + at;
        quad<T> x = load_streaming(to);
        for (int k = 0; k < a.ring - 1; ++k)
          axpy(static_cast<T>(s.steps[k]), load_streaming(reinterpret_cast<const quad<T>*>(a.p + k * a.stride) + at), x);
        axpy(-step, p, x);
        __stcs(reinterpret_cast<int4*>(to), reinterpret_cast<const int4&>(x));
      }
      axpy(step, q, r);
      *r4 = r;
#pragma unroll
      for (int v = 0; v < size; ++v) {
        const double value = r.v[v];
        residual.wy = fma(value, value, residual.wy);
        if (s.exact == 0) continue;
        const double root = a.roots[at * size + v];
        residual.yy = fma(value * root, value * root, residual.yy);
      }
      if (turns) {
        axpy(beta, p, r);
        reinterpret_cast<quad<T>*>(p_to)[at] = r;
      }
    }
    const bool all_ready = __syncthreads_and(static_cast<int>(ready)) != 0;
    if (threadIdx.x == 0 && std::int64_t{blockIdx.x} * pass_chunk < a.n) {  // the other warps go on
      __threadfence();
      asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(w.renewed + blockIdx.x), "r"(number) : "memory");
    }
    if (!all_ready) {
      for (int k = need.x + static_cast<int>(threadIdx.x); k <= need.y; k += pass_threads)
        while (load_number(w.renewed + k) != number) {
        }
      __syncthreads();
    }
  }
  store_with_dots<T> dots{{}, nullptr, {}, w.product_shares[side]};
  if (multiplies && turns) {
    packed_lane lane[2];
    lanes_of<pass_division>(w.a, slice, lane);
    T sum[2][1] = {};
    const T* const x = p_to;  // other blocks write it: plain loads
    walk_slice<pass_division>(w.a, slice, lane, stored_values<T>{w.values}, [&](int h, T value, index_t column) {
      sum[h][0] = multiply_add(value, x[column], sum[h][0]);
    });
    sum_rows<pass_division>(slice, sum);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      if (!lane[h].owns_row) continue;
      const double y = a.q[lane[h].row] = sum[h][0];
      dots.wy = fma(static_cast<double>(x[lane[h].row]), y, dots.wy);
      dots.yy = fma(y, y, dots.yy);
    }
  }
  dots.finish();
  if constexpr (Moves) {
    __syncthreads();
    residual.finish();
  }
}

/// Passes over one packed matrix.
template <class T>
class graph_pass {
 public:
  /// Whether `plan` multiplies by slices of `csr` that passes can walk, and vectors are so long that they pay.
  template <class O>
  graph_pass(const context& ctx, const packed_slices& a, const csr_view<T, O>& csr)
      : passes_(ctx, 2) {
    view_.a = a.pattern;
    view_.values = static_cast<const T*>(a.values);
    view_.products = ceil_div(a.pattern.slices, pass_warps);
    const std::int64_t windows = ceil_div(csr.rows, packed_window), chunks = ceil_div(csr.rows, pass_chunk);
    needs_ = buffer<int2>(ctx, static_cast<std::size_t>(view_.products));
    renewed_ = buffer<unsigned>(ctx, static_cast<std::size_t>(chunks));
    buffer<int2> of_window(ctx, static_cast<std::size_t>(windows));
    buffer<int> ahead(ctx, 1);
    for (auto* b : {&renewed_, &passes_}) fill_bytes(ctx, b->data(), memory_space::device, 0, b->bytes());
    fill_bytes(ctx, ahead.data(), memory_space::device, 0, ahead.bytes());
    launch("cg.windows", windows_kernel<O>, {windows, block_threads}, native(ctx), csr.rows, csr.rowptr, csr.colind,
           of_window.data());
    launch_items(ctx, "cg.needs", needs_kernel, view_.products, view_.a, view_.products, of_window.data(),
                 needs_.data(), ahead.data());
    const int most = to_vector(ctx, ahead)[0];
    resident_ = ctx.info().multiprocessors * pass_blocks;
    reach_ = std::int64_t{most} * pass_chunk;
    view_.lag = most + 1 + resident_;
    blocks_ = std::max(chunks, view_.products + view_.lag);
    view_.needs = needs_.data();
    view_.renewed = renewed_.data();
    view_.passes = passes_.data();
    for (const int i : {0, 1}) {
      product_[i] = {ctx, blocks_, 0};
      residual_[i] = {ctx, blocks_, 0};
      view_.product[i] = product_[i].leave();
      view_.residual[i] = residual_[i].leave();
      view_.product_shares[i] = product_[i].view();
      view_.residual_shares[i] = residual_[i].view();
    }
  }
  [[nodiscard]] const dot_pairs& residual(int side) const { return view_.residual[side]; }
  /// Where the work of a pass is long beside what all blocks of a wave wait for, and what was renewed is still in L2.
  [[nodiscard]] bool pays(std::size_t l2_bytes) const {
    return view_.products > 4 * resident_ && static_cast<double>(reach_) * sizeof(T) < 0.25 * static_cast<double>(l2_bytes);
  }
  void first(const graph_vectors<T>& v, cudaStream_t s) const {
    launch("cg.first", graph_pass_kernel<false, T>, {blocks_, pass_threads}, s, v, view_, 0, 0, false);
  }
  void next(const graph_vectors<T>& v, int i, int slot, cudaStream_t s) const {
    launch("cg.pass", graph_pass_kernel<true, T>, {blocks_, pass_threads}, s, v, view_, i % 2, slot,
           slot + 1 == v.ring);
  }

 private:
  pass_view<T> view_{};
  buffer<int2> needs_;
  buffer<unsigned> renewed_, passes_;
  dot_workspace product_[2], residual_[2];
  std::int64_t resident_ = 0, blocks_ = 0, reach_ = 0;
};

}  // namespace tulle::cuda
