// One kernel an iteration: r -= alpha q, p = r + beta p, x every other time, q = A p, and all sums, with beta predicted
// as cg.graph does it (Meurant). 7 n values beside the matrix: r, p and q are read and written, x half a time each,
// since the direction before is (p - r) / beta. Both forms lost (docs/notes/0013-conjugate-gradients-on-a-gpu.md):
//   waits    (Kronbichler, Sashko, Munch, IJHPCA 2023): block t renews rows 256 t to 256 t + 255, says so by a number, and
//            multiplies the rows of slices that many blocks behind, once all that they read is renewed. Blocks start in
//            the order of their numbers.
//   gathers  a row multiplies r, q and p of its neighbours as they were, three reads for one.
// The product is the packed kernel's.
#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "cg_one_pass.hpp"
#include "cuda/solvers/diagonal.hpp"
#include "cuda/solvers/quads.cuh"
#include "cuda/spmv/fused_operator.cuh"
#include "cuda/spmv/packed_build.hpp"
#include "cuda/spmv/packed_walk.cuh"

namespace {

using namespace tulle;
using namespace tulle::cuda;

constexpr int threads = 128, warps = threads / 32, chunk = 2 * threads;  // rows that a block renews
struct tuning : packed_division<2, 1, 4, false> {};
struct gather_tuning : packed_division<2, 1, 2, false> {};

struct pass_state {
  double alpha, beta, alpha_before, beta_before, target;  // of r.r
  int passes, iterations, done;
};

struct pass_arrays {
  packed_pattern a;
  const double* values;
  std::int64_t n;
  double *x, *r, *p, *q, *new_r, *new_p, *new_q;  // the same where blocks wait
  pass_state* state;                              // two
  int parity;
  dot_pairs product, residual;  // sums that the pass before left
  dot_shares left_product, left_residual;
  int* renewed;       // the last pass that renewed the chunk
  const int2* needs;  // first and last chunk that a block's rows read
  std::int64_t products, lag;
};

struct pass_sums {
  double pq = 0, qq = 0, rr = 0;
};

__device__ __forceinline__ pass_sums load_sums(const pass_arrays& v) {
  pass_sums s;
  double none = 0;
  if (threadIdx.x >= 32) return s;
  add_pairs(v.product.data, lane_id(), v.product.count, 32, s.pq, s.qq);
  add_pairs(v.residual.data, lane_id(), v.residual.count, 32, s.rr, none);
  return s;
}
/// By all threads: what this pass does.
__device__ __forceinline__ void decide(const pass_arrays& v, const pass_sums& sums, pass_state& s) {
  if (threadIdx.x < 32) {
    const double pq = warp_sum(sums.pq), qq = warp_sum(sums.qq), rr = warp_sum(sums.rr);
    if (threadIdx.x == 0) {
      s = v.state[v.parity];
      s.alpha_before = s.alpha;
      s.beta_before = s.beta;
      if (s.passes++ > 0 && !s.done) {
        s.done = rr <= s.target;
        if (!s.done) {
          s.alpha = rr / pq;
          s.beta = fma(s.alpha * s.alpha, qq, -rr) / rr;
          ++s.iterations;
        }
      }
      if (blockIdx.x == 0) v.state[v.parity ^ 1] = s;
    }
  }
  __syncthreads();
}

__device__ __forceinline__ double add_to_x(const pass_state& s, double r, double p, double x) {
  return fma(s.alpha, p, fma(s.alpha_before / s.beta_before, p - r, x));
}
__device__ __forceinline__ bool renews_x(const pass_state& s) { return s.iterations > 0 && s.iterations % 2 == 0; }

__device__ __forceinline__ int load_number(const int* from) {
  int v;
  asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(from) : "memory");
  return v;
}

__global__ void __launch_bounds__(threads, 7) waiting_pass(const __grid_constant__ pass_arrays v) {
  __shared__ pass_state s;
  const std::int64_t product = std::int64_t{blockIdx.x} - v.lag, i = product * warps + threadIdx.x / 32;
  const bool multiplies = product >= 0 && i < v.a.slices;
  packed_slice slice{};
  if (multiplies) {
    slice = load_slice(v.a, i);
    const auto* const from = reinterpret_cast<const char*>(v.values + slice.values) + 128 * lane_id();
    if (lane_id() < slice.full * 4) prefetch_l2(from);
  }
  const std::int64_t at = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  const bool renews = 2 * at < v.n;
  quad<double> r{}, p{}, q{};
  if (renews) {
    r = load_l2(reinterpret_cast<const quad<double>*>(v.r) + at);
    p = load_l2(reinterpret_cast<const quad<double>*>(v.p) + at);
    q = load_streaming(reinterpret_cast<const quad<double>*>(v.q) + at);
  }
  decide(v, load_sums(v), s);
  if (s.done) return;
  const int2 need = product >= 0 && product < v.products ? v.needs[product] : int2{0, -1};
  bool ready = true;
  for (int k = need.x + static_cast<int>(threadIdx.x); k <= need.y; k += threads)
    ready = ready && load_number(v.renewed + k) >= s.passes;
  store_with_dots<double> residual{{}, nullptr, {}, v.left_residual};
  if (renews) {
    if (renews_x(s)) {
      auto* const to = reinterpret_cast<quad<double>*>(v.x) + at;
      quad<double> x = load_streaming(to);
#pragma unroll
      for (int e = 0; e < 2; ++e) x.v[e] = add_to_x(s, r.v[e], p.v[e], x.v[e]);
      __stcs(reinterpret_cast<int4*>(to), reinterpret_cast<const int4&>(x));
    }
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      r.v[e] = fma(-s.alpha, q.v[e], r.v[e]);
      p.v[e] = fma(s.beta, p.v[e], r.v[e]);
      residual.wy = fma(r.v[e], r.v[e], residual.wy);
    }
    reinterpret_cast<quad<double>*>(v.r)[at] = r;
    reinterpret_cast<quad<double>*>(v.p)[at] = p;
  }
  const bool all_ready = __syncthreads_and(static_cast<int>(ready)) != 0;
  if (threadIdx.x == 0 && std::int64_t{blockIdx.x} * chunk < v.n) {  // the other warps go on
    __threadfence();
    asm volatile("st.relaxed.gpu.global.s32 [%0], %1;" ::"l"(v.renewed + blockIdx.x), "r"(s.passes) : "memory");
  }
  if (!all_ready) {
    for (int k = need.x + static_cast<int>(threadIdx.x); k <= need.y; k += threads)
      while (load_number(v.renewed + k) < s.passes) {
      }
    __syncthreads();
  }
  store_with_dots<double> dots{{}, nullptr, {}, v.left_product};
  if (multiplies) {
    packed_lane lane[2];
    lanes_of<tuning>(v.a, slice, lane);
    double sum[2][1] = {};
    const double* const x = v.p;  // written in this kernel: plain loads
    walk_slice<tuning>(v.a, slice, lane, cuda::stored_values<double>{v.values},
                       [&](int h, double value, index_t column) { sum[h][0] = fma(value, x[column], sum[h][0]); });
    sum_rows<tuning>(slice, sum);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      if (!lane[h].owns_row) continue;
      v.q[lane[h].row] = sum[h][0];
      dots.wy = fma(x[lane[h].row], sum[h][0], dots.wy);
      dots.yy = fma(sum[h][0], sum[h][0], dots.yy);
    }
  }
  dots.finish();
  __syncthreads();
  residual.finish();
}

__global__ void __launch_bounds__(threads, 6) gathering_pass(const __grid_constant__ pass_arrays v) {
  __shared__ pass_state s;
  const std::int64_t i = std::int64_t{blockIdx.x} * warps + threadIdx.x / 32;
  packed_slice slice{};
  packed_lane lane[2]{};
  if (i < v.a.slices) {
    slice = load_slice(v.a, i);
    lanes_of<gather_tuning>(v.a, slice, lane);
  }
  const pass_sums sums = load_sums(v);
  double sum[2][3] = {};
  if (i < v.a.slices) {
    const double *const r = v.r, *const p = v.p, *const q = v.q;
    walk_slice<gather_tuning>(v.a, slice, lane, cuda::stored_values<double>{v.values}, [&](int h, double value, index_t column) {
      sum[h][0] = fma(value, __ldg(r + column), sum[h][0]);
      sum[h][1] = fma(value, __ldg(q + column), sum[h][1]);
      sum[h][2] = fma(value, __ldg(p + column), sum[h][2]);
    });
    sum_rows<gather_tuning>(slice, sum);
  }
  decide(v, sums, s);
  if (s.done) return;
  store_with_dots<double> dots{{}, nullptr, {}, v.left_product}, residual{{}, nullptr, {}, v.left_residual};
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    if (!lane[h].owns_row) continue;
    const index_t row = lane[h].row;
    const double before = v.r[row], p = v.p[row];
    if (renews_x(s)) v.x[row] = add_to_x(s, before, p, v.x[row]);
    const double r = fma(-s.alpha, v.q[row], before), turned = fma(s.beta, p, r);
    const double q = fma(s.beta, sum[h][2], fma(-s.alpha, sum[h][1], sum[h][0]));
    v.new_r[row] = r;
    v.new_p[row] = turned;
    v.new_q[row] = q;
    residual.wy = fma(r, r, residual.wy);
    dots.wy = fma(turned, q, dots.wy);
    dots.yy = fma(q, q, dots.yy);
  }
  residual.finish();
  __syncthreads();
  dots.finish();
}

/// The pending step of x; x and r as they are asked for.
__global__ void end_kernel(pass_arrays v, const double* roots) {
  const pass_state s = v.state[v.parity];
  for (std::int64_t i = grid_thread(); i < v.n; i += grid_stride()) {
    if (s.iterations % 2 != 0) v.x[i] = fma(s.alpha / s.beta, v.p[i] - v.r[i], v.x[i]);
    v.x[i] /= roots[i];
  }
}
__global__ void begin_kernel(pass_arrays v, const double* b, const double* roots) {
  for (std::int64_t i = grid_thread(); i < v.n; i += grid_stride()) {
    v.x[i] = v.p[i] = v.q[i] = 0;
    v.r[i] = b[i] / roots[i];
  }
}

/// The chunks that the rows of each block's slices read or are, by windows of rows; and how far they are ahead of the block.
std::vector<int2> chunks_needed(const context& ctx, const matrix_ref& a, const packed_pattern& pattern,
                                std::int64_t& ahead) {
  const auto csr = a.as<double, std::int64_t>();
  std::vector<std::int64_t> rowptr(static_cast<std::size_t>(a.rows) + 1);
  std::vector<index_t> colind(static_cast<std::size_t>(a.nnz));
  std::vector<packed_slice> slices(static_cast<std::size_t>(pattern.slices));
  const auto fetch = [&](auto& to, const void* from) {
    copy_bytes(ctx, to.data(), memory_space::host, from, memory_space::device, to.size() * sizeof(to[0]));
  };
  fetch(rowptr, csr.rowptr), fetch(colind, csr.colind), fetch(slices, pattern.slice);
  ctx.synchronize();
  std::vector<int2> windows;
  for (index_t first = 0; first < a.rows; first += packed_window) {
    const index_t last = std::min(first + packed_window, a.rows);
    int2 w{first, last - 1};
    for (std::int64_t k = rowptr[first]; k < rowptr[last]; ++k) w = {std::min(w.x, colind[k]), std::max(w.y, colind[k])};
    windows.push_back({w.x / chunk, w.y / chunk});
  }
  std::vector<int2> needs;
  ahead = 0;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (slices[i].rows == 0) throw std::runtime_error("a row that is cut");
    const int2 w = windows[slices[i].first_row / packed_window];
    if (i % warps == 0) needs.push_back(w);
    needs.back() = {std::min(needs.back().x, w.x), std::max(needs.back().y, w.y)};
    ahead = std::max<std::int64_t>(ahead, needs.back().y - static_cast<std::int64_t>(needs.size() - 1));
  }
  return needs;
}

}  // namespace

one_pass_result one_pass(const context& ctx, const matrix_ref& given, const buffer<double>& b, buffer<double>& x,
                         double rtol, one_pass_form form, int slack) {
  const bool gathers = form == one_pass_form::gathers;
  const auto n = static_cast<std::size_t>(given.rows);
  if (n % 2 != 0 || given.types.offset != offset_type::i64) throw std::runtime_error("a matrix that this does not take");
  buffer<double> roots(ctx, n), scaled(ctx, static_cast<std::size_t>(given.nnz));
  diagonal_roots(ctx, blocks_of(given), roots.data());
  scale_symmetrically(ctx, blocks_of(given), roots.data(), given.types.value, scaled.data());
  matrix_ref a = given;
  a.values = scaled.data();
  const auto csr = a.as<double, std::int64_t>();
  packed_shape shape;
  shape.height = 64;
  shape.positions = 96;
  packed_storage storage(ctx, a.rows, csr.rowptr, csr.colind, 1024, shape);
  buffer<double> values(ctx, scaled.size()), vectors(ctx, 6 * n);
  storage.fill_values(ctx, csr.rowptr, csr.values, packed_writer<double>{value_storage::whole, false, values.data()});
  const packed_pattern pattern = storage.view();
  std::int64_t ahead = 0;
  const buffer<int2> needs = to_buffer(ctx, chunks_needed(ctx, a, pattern, ahead));
  const auto products = static_cast<std::int64_t>(needs.size());
  const std::int64_t lag = ahead + 1 + slack;
  const std::int64_t blocks = gathers ? products : std::max(ceil_div(a.rows, chunk), products + lag);
  buffer<int> renewed = to_buffer(ctx, std::vector<int>(n / chunk + 1));
  dot_workspace sums[2][2];  // of products and residuals, of two passes
  dot_pairs left[2][2];
  for (int i = 0; i < 4; ++i) {
    sums[i / 2][i % 2] = {ctx, blocks, 0};
    left[i / 2][i % 2] = sums[i / 2][i % 2].leave();
  }
  buffer<pass_state> state(ctx, 2);
  const auto arrays = [&](int parity) {
    double* const v = vectors.data();
    const std::size_t from = gathers ? 3 * n * static_cast<std::size_t>(parity) : 0, to = gathers ? 3 * n - from : 0;
    return pass_arrays{pattern, values.data(), a.rows, x.data(), v + from, v + from + n, v + from + 2 * n,
                       v + to, v + to + n, v + to + 2 * n, state.data(), parity,
                       left[parity ^ 1][0], left[parity ^ 1][1], sums[parity][0].view(), sums[parity][1].view(),
                       renewed.data(), needs.data(), products, lag};
  };
  const cudaStream_t s = native(ctx);
  const graph some(ctx, [&] {
    for (int i = 0; i < 40; ++i)
      launch("pass", gathers ? gathering_pass : waiting_pass, {blocks, threads}, s, arrays(i % 2));
  });
  const auto begin = [&](double target) {
    const pass_state first{0, 0, 0, 0, target, 0, 0, 0};
    copy_bytes(ctx, state.data(), memory_space::device, &first, memory_space::host, sizeof(first));
    fill_bytes(ctx, renewed.data(), memory_space::device, 0, renewed.bytes());
    launch_items(ctx, "begin", begin_kernel, a.rows, arrays(0), b.data(), roots.data());
  };
  const auto now_at = [&] {
    pass_state at;
    copy_bytes(ctx, &at, memory_space::host, state.data(), memory_space::device, sizeof(at));
    ctx.synchronize();
    return at;
  };
  one_pass_result out;
  cudaEvent_t from, to;
  check(cudaEventCreate(&from), "event"), check(cudaEventCreate(&to), "event");
  out.microseconds = 1e300;
  for (int repeat = 0; repeat < 3; ++repeat) {
    begin(0);
    some.launch();
    check(cudaEventRecord(from, s), "record");
    some.launch(), some.launch();
    check(cudaEventRecord(to, s), "record");
    check(cudaEventSynchronize(to), "synchronize");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, from, to), "elapsed");
    out.microseconds = std::min(out.microseconds, 1e3 * ms / 80);
  }
  double bb = 0;
  const std::vector<double> hb = to_vector(ctx, b), hroots = to_vector(ctx, roots);
  for (std::size_t i = 0; i < n; ++i) bb += hb[i] / hroots[i] * (hb[i] / hroots[i]);
  begin(rtol * rtol * bb);
  for (int i = 0; i < 25 && now_at().done == 0; ++i) some.launch();
  out.iterations = now_at().iterations;
  launch_items(ctx, "end", end_kernel, a.rows, arrays(0), roots.data());
  ctx.synchronize();
  cudaEventDestroy(from), cudaEventDestroy(to);
  return out;
}
