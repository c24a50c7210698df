#include "solvers/cg_mixed.hpp"

#include <fmt/format.h>

#include <cmath>

#include "plan/find_kernel.hpp"

namespace tulle::detail {
namespace {

/// Whose plans leave out no bits of A: b - A x is of A itself, and the f32 copy, or on a device the high words alone,
/// is all that precision = mixed rounds.
cg_problem with_all_bits(const context& ctx, cg_problem p) {
  p.options.spmv.values = {};
  p.options.spmv.value_rule.reset();
  p.options.spmv.high_words = p.options.spmv.high_words && ctx.backend() == backend_kind::cuda;
  return p;
}

class cg_mixed final : public cg_operator {
 public:
  cg_mixed(const context& ctx, const cg_problem& problem, const cg_kernel& kernel)
      : ctx_(ctx), problem_(with_all_bits(ctx, problem)), kernel_(kernel), narrow_(kernel.make(ctx, problem_)) {}

  void enqueue(const void*, void*, cg_record*, double*, stream_view) override {
    throw error(
        status::unsupported,
        "precision = mixed: a solve that is only queued cannot go on in f64 where f32 comes no further; solve can");
  }
  void solve(const void* b, void* x, cg_record* record, double* history, stream_view stream) override {
    narrow_->solve(b, x, record, history, stream);
    const cg_record end = read(record);
    wide_iterations_ = 0;
    if (is_final(end)) return;
    if (wide_ == nullptr) wide_ = kernel_.make(ctx_, in_f64());
    wide_->go_on(b, x, record, history, stream, end.iterations);
    wide_iterations_ = read(record).iterations - end.iterations;
  }
  void update_values(const cg_problem& problem) override {
    problem_ = with_all_bits(ctx_, problem);
    narrow_->update_values(problem_);
    if (wide_ != nullptr) wide_->update_values(in_f64());
  }
  [[nodiscard]] int corrections() const override { return narrow_->corrections(); }
  [[nodiscard]] int wide_iterations() const override { return wide_iterations_; }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return narrow_->workspace_bytes() + (wide_ == nullptr ? 0 : wide_->workspace_bytes());
  }
  [[nodiscard]] std::string parameters() const override {
    const std::string last =
        wide_iterations_ == 0 ? "" : fmt::format("the last {} iterations in f64; ", wide_iterations_);
    const std::string_view in = problem_.options.spmv.high_words ? "by high words" : "in f32";
    return fmt::format("{}, corrected in f64; {}{}", in, last, narrow_->parameters());
  }

 private:
  [[nodiscard]] cg_record read(const cg_record* record) const {
    cg_record out;
    copy_bytes(ctx_, &out, memory_space::host, record, ctx_.space(), sizeof out);
    return out;
  }
  /// Nothing that f64 could mend.
  [[nodiscard]] bool is_final(const cg_record& end) const {
    return end.code == static_cast<std::int32_t>(status::success) ||
           end.iterations >= problem_.options.max_iterations || !std::isfinite(end.residual) || !std::isfinite(end.rhs);
  }
  [[nodiscard]] cg_problem in_f64() const {
    cg_problem p = problem_;
    p.options.precision = solver_precision::uniform;
    p.options.spmv.high_words = false;
    p.options.zero_guess = false;
    return p;
  }

  context ctx_;
  cg_problem problem_;
  const cg_kernel& kernel_;
  std::unique_ptr<cg_operator> narrow_;
  std::unique_ptr<cg_operator> wide_;  // once it was needed
  int wide_iterations_ = 0;
};

}  // namespace

void check_mixed(const cg_problem& problem) {
  if (problem.types() != operation_types{{scalar_type::f64, problem.csr.types.offset}, scalar_type::f64}) {
    throw error(status::unsupported,
                fmt::format("precision = mixed takes f64 values and vectors, not {}", describe(problem.types())));
  }
  if (problem.options.rhs > 1) {
    throw error(status::unsupported,
                fmt::format("precision = mixed takes one right-hand side, not {}", problem.options.rhs));
  }
}

std::unique_ptr<cg_operator> make_cg_mixed(const context& ctx, const cg_problem& problem, const cg_kernel& kernel) {
  return std::make_unique<cg_mixed>(ctx, problem, kernel);
}

}  // namespace tulle::detail
