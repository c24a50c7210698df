#include "solvers/preconditioner.hpp"

#include <fmt/format.h>

#include <tulle/ops/matrix.hpp>
#include <tulle/ops/vector.hpp>

#include "kernels/types.hpp"

namespace tulle::detail {
namespace {

/// D^-1.
class jacobi final : public preconditioner {
 public:
  jacobi(const context& ctx, const cg_problem& problem)
      : ops_(ctx),
        n_(problem.csr.rows),
        type_(problem.types().vector),
        inverse_(ctx, static_cast<std::size_t>(n_) * size_of(type_)) {
    jacobi::update(problem);
  }
  [[nodiscard]] const context& ctx() const noexcept override { return ops_.ctx(); }
  [[nodiscard]] shape dimensions() const noexcept override { return {n_, n_}; }
  [[nodiscard]] scalar_type vector_type() const noexcept override { return type_; }
  [[nodiscard]] bool can(operation what, bool transposed) const noexcept override {
    return (what == operation::apply || what == operation::apply_dots) && !transposed;
  }
  void update(const cg_problem& problem) override {
    invert_diagonal(ctx(), problem.csr, {type_, inverse_.data(), n_, ctx().space(), ctx().device()});
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return inverse_.bytes(); }

 private:
  [[nodiscard]] const_vector_ref inverse() const { return {type_, inverse_.data(), n_, ctx().space(), ctx().device()}; }
  void do_apply(double alpha, const const_vector_ref& x, double beta, const vector_ref& y, call how) const override {
    ops_.multiply(alpha, inverse(), x, beta, y, how.stream);
  }
  void do_apply_dots(double alpha, const const_vector_ref& x, double beta, const vector_ref& y,
                     const const_vector_ref& w, const vector_ref& dots, call how) const override {
    ops_.multiply_dots(alpha, inverse(), x, beta, y, w, dots, how.stream);
  }

  vector_ops ops_;
  index_t n_;
  scalar_type type_;
  buffer<std::byte> inverse_;
};

}  // namespace

void invert_diagonal(const context& ctx, const matrix_ref& a, const vector_ref& out) {
  if (out.type != a.types.value) {  // f32 values under f64 vectors
    buffer<float> narrow(ctx, static_cast<std::size_t>(out.size));
    diagonal(ctx, a, narrow);
    const std::vector<float> from = to_vector(ctx, narrow);
    const std::vector<double> wide(from.begin(), from.end());
    copy_bytes(ctx, out.data, ctx.space(), wide.data(), memory_space::host, wide.size() * sizeof(double));
  } else {
    diagonal(ctx, a, out);
  }
  dispatch<type_set::floating>({out.type}, [&]<class T, class>() {
    const std::size_t bytes = static_cast<std::size_t>(out.size) * sizeof(T);
    std::vector<T> d(static_cast<std::size_t>(out.size));
    copy_bytes(ctx, d.data(), memory_space::host, out.data, ctx.space(), bytes);
    for (std::size_t i = 0; i < d.size(); ++i) {
      if (d[i] <= 0) {
        throw error(status::indefinite, fmt::format("A is not positive definite: a_ii = {} for i = {}, counted from 0",
                                                    static_cast<double>(d[i]), i));
      }
      d[i] = 1 / d[i];
    }
    copy_bytes(ctx, out.data, ctx.space(), d.data(), memory_space::host, bytes);
  });
}

std::unique_ptr<preconditioner> make_preconditioner(const context& ctx, const cg_problem& problem,
                                                    const linear_operator& a) {
  switch (problem.options.preconditioner) {
    case preconditioner_kind::none:
      return nullptr;
    case preconditioner_kind::jacobi:
      return std::make_unique<jacobi>(ctx, problem);
    case preconditioner_kind::block_jacobi:
      if (problem.options.block == 1) return std::make_unique<jacobi>(ctx, problem);
      return make_block_jacobi(ctx, problem);
    case preconditioner_kind::chebyshev:
      return make_chebyshev(ctx, problem, a);
  }
  return nullptr;
}

}  // namespace tulle::detail
