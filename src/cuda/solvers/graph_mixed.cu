// cg.graph (graph.cu) in mixed precision: W A W with W = D^-1/2, r, p, q and y in f32; A, x and b - A x in f64, looked
// at when kernels/cg_mixed.hpp says so. Iterations are graph_move.cuh's; a correction is
//   begin:  x += scale W y, y = 0, r = b               (42 bytes a row)
//           r -= A x, by a plan in f64
//   anew:   ||b - A x|| and ||W (b - A x)||, and what follows from them (16)
//   turn:   r32 = W r / scale, p = r32 + beta p        (28)
// all of it in the loop on the device. A thread has a row. Values moved per iteration beside the matrix: (8 + 1/k) n of
// 4 bytes.
#include <cmath>
#include <tulle/ops/vector.hpp>

#include "cuda/runtime/read_back.hpp"
#include "cuda/solvers/graph_mixed.hpp"
#include "cuda/solvers/graph_solver.cuh"

namespace tulle::cuda {
namespace {

/// What there is in f64 besides; n values each.
struct mixed_vectors {
  double* x;
  double* r;            // b - A x
  const double* roots;  // D^1/2: 1 / W
  mixed_state* state;
};

/// x += scale W y, y = 0, r = b; at first x is the guess. What failed is not added.
__global__ void __launch_bounds__(graph_threads, graph_blocks)
    mixed_begin_kernel(const __grid_constant__ graph_vectors<float> a, const __grid_constant__ mixed_vectors m) {
  graph_state& s = *a.state;
  if (s.stopped) return;
  const auto* const b = static_cast<const double*>(s.b);
  const auto* const guess = static_cast<const double*>(s.x);
  const bool first = s.first != 0;
  const int pending = s.pending;
  const double scale = first ? 0 : m.state->scale;
  const bool adds = settle(a) && !first;
  double bb = 0, none = 0;
  for (std::int64_t i = grid_thread(); i < a.n; i += grid_stride()) {
    m.r[i] = b[i];
    if (first) {
      m.x[i] = a.zero_guess ? 0 : guess[i];
      bb = fma(b[i], b[i], bb);
    } else if (adds) {
      float y = a.x[i];
      for (int k = 0; k < pending; ++k) y = fma(static_cast<float>(s.steps[k]), a.p[k * a.stride + i], y);
      m.x[i] += static_cast<double>(y) * scale / m.roots[i];
    }
    a.x[i] = 0;
  }
  if (!first || !sum_over_grid(bb, none, a.shares, &s.arrived)) return;
  s.rhs = sqrt(bb);
  s.target = fmax(a.rtol * s.rhs, a.atol);
}

/// From ||W (b - A x)||^2 and ||b - A x||^2.
__device__ void judge_mixed(const graph_vectors<float>& a, double rz, double rr, mixed_state& m) {
  graph_state& s = *a.state;
  if (s.first) {
    begin_mixed(s.target, m);
  } else if (!s.failed) {
    ++m.corrections;
  }
  if (!judge_truth(a, rr)) return;
  if (!judge_correction(s.residual, rz, s.rz_before, m)) return end_solve(a, status::not_converged);
  s.goal = m.goal;
  s.later = m.later;
  s.unit = m.unit;
  const double norm = sqrt(rz) / m.scale;
  begin_rounds(a, norm * norm, m.beta);
}

__global__ void __launch_bounds__(graph_threads, graph_blocks)
    mixed_anew_kernel(const __grid_constant__ graph_vectors<float> a, const __grid_constant__ mixed_vectors m) {
  if (a.state->stopped) return;
  double rz = 0, rr = 0;
  for (std::int64_t i = grid_thread(); i < a.n; i += grid_stride()) {
    const double r = m.r[i], z = r / m.roots[i];
    rz = fma(z, z, rz);
    rr = fma(r, r, rr);
  }
  if (sum_over_grid(rz, rr, a.shares, &a.state->arrived)) judge_mixed(a, rz, rr, *m.state);
}

/// r in f32, and the direction from the last one.
__global__ void __launch_bounds__(graph_threads, graph_blocks)
    mixed_turn_kernel(const __grid_constant__ graph_vectors<float> a, const __grid_constant__ mixed_vectors m) {
  const graph_state& s = *a.state;
  if (!s.running) return;
  const float* const from = a.p + s.slot * a.stride;
  const double scale = 1 / m.state->scale;
  const float beta = static_cast<float>(s.beta);
  for (std::int64_t i = grid_thread(); i < a.n; i += grid_stride()) {
    const float r = static_cast<float>(m.r[i] / m.roots[i] * scale);
    a.r[i] = r;
    a.p[i] = beta == 0 ? r : fma(beta, from[i], r);  // p may hold anything at first
  }
}

__global__ void mixed_end_kernel(const __grid_constant__ graph_vectors<float> a,
                                 const __grid_constant__ mixed_vectors m) {
  const graph_state& s = *a.state;
  auto* const x = static_cast<double*>(s.x);
  for (std::int64_t i = grid_thread(); i < a.n; i += grid_stride()) x[i] = s.rhs == 0 ? 0 : m.x[i];
  if (blockIdx.x == 0 && threadIdx.x == 0) leave_record(s);
}

class graph_mixed final : public graph_solver<float> {
 public:
  graph_mixed(const context& ctx, const cg_problem& p)
      : graph_solver(ctx, p, true),
        wide_x_(ctx, size()),
        wide_r_(ctx, size()),
        roots_(ctx, size()),
        values_(ctx, static_cast<std::size_t>(p.csr.nnz)),
        mixed_(ctx, 1) {
    const device_guard guard(ctx_.device());
    int& longest = options_.replace_interval;
    longest = longest > 0 ? std::min(longest, mixed_longest) : mixed_longest;
    set_range({1, 1});  // iterations are judged by the f32 residual itself
    fold(p.csr);
    matrix_ref a = p.csr;
    a.values = values_.data();
    a.types.value = scalar_type::f32;
    plan_.emplace(ctx_, a, plan_options(scalar_type::f32));
    truth_.emplace(ctx_, p.csr, plan_options(scalar_type::f64));
    ready(2, p.csr.values);  // directions: iterations overwrite one, and a correction needs the last
  }

  void update_values(const cg_problem& p) override {
    const device_guard guard(ctx_.device());
    const bool were_narrow = narrows();
    fold(p.csr);
    plan_->update_values(ref_of(scalar_type::f32, values_.data(), p.csr.nnz));
    truth_->update_values(ref_of(scalar_type::f64, p.csr.values, p.csr.nnz));
    follow_values(p.csr.values, were_narrow);
  }
  [[nodiscard]] int corrections() const override { return read_back(ctx_, mixed_.data()).corrections; }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return graph_solver::workspace_bytes() + 3 * roots_.bytes() + values_.bytes();
  }
  [[nodiscard]] std::string parameters() const override {
    return describe_rounds() + " " + plan_->explain() + "; b - A x in f64 by " + truth_->explain();
  }

 private:
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(n_); }
  [[nodiscard]] spmv_options plan_options(scalar_type vectors) const {
    spmv_options o = options_.spmv;
    o.vector_type = vectors;
    return o;
  }
  [[nodiscard]] const_vector_ref ref_of(scalar_type type, const void* values, std::int64_t count) const {
    return {type, values, count, memory_space::device, ctx_.device()};
  }
  [[nodiscard]] mixed_vectors wide() { return {wide_x_.data(), wide_r_.data(), roots_.data(), mixed_.data()}; }

  /// values_ = W A W. Without a preconditioner W is a power of two that brings A near 1, as f32 spans little.
  void fold(const matrix_ref& a) {
    const bool scales = options_.preconditioner == preconditioner_kind::jacobi;
    const double largest = diagonal_roots(ctx_, blocks_of(a), roots_.data(), !scales).greatest;
    if (!scales) {
      const double root = std::isfinite(largest) ? std::ldexp(1, std::ilogb(largest) >> 1) : 1;
      vector_ops(ctx_).fill(root, ref(roots_));
    }
    scale_symmetrically(ctx_, blocks_of(a), roots_.data(), scalar_type::f32, values_.data());
  }

  void anew(cudaStream_t s) override {
    const graph_vectors<float> v = vectors();
    const mixed_vectors m = wide();
    launch("cg.begin", mixed_begin_kernel, shape(), s, v, m);
    truth_->apply(-1, ref(std::as_const(wide_x_)), 1, ref(wide_r_), {.stream = stream_view{s}});
    launch("cg.anew", mixed_anew_kernel, shape(), s, v, m);
    launch("cg.direction", mixed_turn_kernel, shape(), s, v, m);
  }
  void end(cudaStream_t s) override { launch("cg.end", mixed_end_kernel, shape(), s, vectors(), wide()); }

  buffer<double> wide_x_, wide_r_, roots_;
  buffer<float> values_;
  buffer<mixed_state> mixed_;
};

}  // namespace

std::unique_ptr<cg_operator> make_graph_mixed(const context& ctx, const cg_problem& problem) {
  return std::make_unique<graph_mixed>(ctx, problem);
}

}  // namespace tulle::cuda
