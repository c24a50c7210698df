// cg.fused: conjugate gradients in three passes an iteration. x is moved together with p, one step behind, where p is
// read anyway; z = D^-1 r is made where it is needed and never stored; r.z and r.r come from the pass that makes r, and
// p.Ap from that of the matrix where its kernel is `packed`, whose parts no number of threads changes. Values moved per
// iteration beside the matrix: 12 n with Jacobi's preconditioner, 10 n without; where the kernel is another, 2 n more.
// Chosen for one right-hand side without a preconditioner or with Jacobi's.
#include <fmt/format.h>

#include <tulle/ops/matrix.hpp>

#include "cpu/solvers/fused_system.hpp"
#include "cpu/solvers/mixed.hpp"

namespace tulle::cpu {
namespace {

const matrix_ref& matrix_of(const cg_problem& p) { return p.blocks.block > 0 ? p.blocks : p.csr; }

template <class T>
class cg_fused final : public cg_operator {
 public:
  cg_fused(const context& ctx, const cg_problem& p)
      : ctx_(ctx),
        options_(p.options),
        n_(p.csr.rows),
        a_(ctx, matrix_of(p), p.options.spmv),
        r_(ctx, size()),
        p_(ctx, size()),
        q_(ctx, size()),
        shares_(ctx, 2 * most_vector_parts) {
    detail::explain_kernel(a_, p.kernel_reason);
    if (options_.preconditioner == preconditioner_kind::none) return;
    inverse_ = buffer<T>(ctx, size());
    invert(p.csr);
  }

  void enqueue(const void* b, void* x, cg_record* record, double* history, stream_view) override {
    run(b, x, record, history, false, 0);
  }
  void solve(const void* b, void* x, cg_record* record, double* history, stream_view) override {
    run(b, x, record, history, true, 0);
  }
  void go_on(const void* b, void* x, cg_record* record, double* history, stream_view, int iterations) override {
    run(b, x, record, history, true, iterations);
  }
  void update_values(const cg_problem& p) override {
    const matrix_ref& a = matrix_of(p);
    const std::int64_t count = a.block > 0 ? a.stored * a.block * a.block : a.nnz;
    a_.update_values(const_vector_ref(a.types.value, a.values, count, a.space, a.device));
    if (!inverse_.empty()) invert(p.csr);
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return a_.workspace_bytes() + r_.bytes() + p_.bytes() + q_.bytes() + inverse_.bytes() + shares_.bytes();
  }
  [[nodiscard]] std::string parameters() const override {
    return fmt::format("values={} {}", (inverse_.empty() ? 10 : 12) + (sums_in_product() ? 0 : 2), a_.explain());
  }

 private:
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(n_); }
  [[nodiscard]] bool sums_in_product() const { return a_.kernel() == "packed"; }

  void run(const void* b, void* x, cg_record* record, double* history, bool tells, int begun) {
    fused_system<T> system{ctx_,
                           a_,
                           options_,
                           n_,
                           static_cast<const T*>(b),
                           static_cast<T*>(x),
                           r_.data(),
                           p_.data(),
                           q_.data(),
                           inverse_.data(),
                           shares_.data(),
                           sums_in_product(),
                           history,
                           tells};
    *record =
        solve_system(system, {options_.rtol, options_.atol, options_.max_iterations, options_.replace_interval, begun});
  }
  void invert(const matrix_ref& a) {
    diagonal(ctx_, a, inverse_);
    for (std::int64_t i = 0; i < n_; ++i) {
      T& d = inverse_.data()[i];
      if (d <= 0) {
        throw error(status::indefinite, fmt::format("A is not positive definite: a_ii = {} for i = {}, counted from 0",
                                                    static_cast<double>(d), i));
      }
      d = 1 / d;
    }
  }

  context ctx_;
  cg_options options_;
  std::int64_t n_;
  any_spmv_plan a_;
  buffer<T> r_, p_, q_, inverse_;
  buffer<double> shares_;
};

support supports(const cg_problem& p, const device_info&) {
  const preconditioner_kind m = p.options.preconditioner;
  if (m == preconditioner_kind::jacobi || m == preconditioner_kind::none) {
    return {true, "three passes an iteration: x with p, the matrix with p.Ap, r with its sums"};
  }
  return {false, fmt::format("its preconditioners are jacobi and none, not {}", name(m))};
}

std::unique_ptr<cg_operator> make(const context& ctx, const cg_problem& p) {
  if (p.options.precision == solver_precision::mixed) return make_mixed(ctx, p);
  if (p.csr.types.value == scalar_type::f32) return std::make_unique<cg_fused<float>>(ctx, p);
  return std::make_unique<cg_fused<double>>(ctx, p);
}

}  // namespace

cg_kernel cg_fused_entry() {
  return {
      .name = "cg.fused",
      .summary = "three passes an iteration: x moves with p, z is never stored",
      .backend = backend_kind::cpu,
      .types = type_set::floating,
      .mixed = true,
      .supports = supports,
      .make = make,
  };
}

}  // namespace tulle::cpu
