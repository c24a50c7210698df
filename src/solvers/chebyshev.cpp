// chebyshev(k): k steps of the Chebyshev iteration for A z = x from z = 0, scaled by the diagonal (Saad, Iterative
// Methods for Sparse Linear Systems, 2003, algorithm 12.1): a polynomial in D^-1 A that is small on the upper part of
// its spectrum, and no dot product.
#include <cmath>
#include <tulle/ops/vector.hpp>

#include "solvers/preconditioner.hpp"

namespace tulle::detail {
namespace {

/// The largest eigenvalue comes from so many steps of the power method, and a margin for what they miss.
constexpr int power_steps = 20;
constexpr double margin = 1.2;
/// Of the largest to the smallest eigenvalue that the polynomial is made for.
constexpr double ratio = 30;

class chebyshev final : public preconditioner {
 public:
  chebyshev(const context& ctx, const cg_problem& problem, const linear_operator& a)
      : ops_(ctx),
        a_(a),
        n_(problem.csr.rows),
        degree_(problem.options.degree),
        type_(problem.types().vector),
        vectors_(ctx, 4 * vector_bytes()),
        norm_(ctx, 1) {
    fill_bytes(ctx, vectors_.data(), ctx.space(), 0, vectors_.bytes());
    chebyshev::update(problem);
  }
  [[nodiscard]] const context& ctx() const noexcept override { return ops_.ctx(); }
  [[nodiscard]] shape dimensions() const noexcept override { return {n_, n_}; }
  [[nodiscard]] scalar_type vector_type() const noexcept override { return type_; }
  void update(const cg_problem& problem) override {
    invert_diagonal(ctx(), problem.csr, vector(0));
    const double largest = n_ == 0 ? 1 : margin * largest_eigenvalue();
    center_ = (largest + largest / ratio) / 2;
    radius_ = (largest - largest / ratio) / 2;
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return vectors_.bytes() + norm_.bytes(); }

 private:
  [[nodiscard]] std::size_t vector_bytes() const {
    return (static_cast<std::size_t>(n_) * size_of(type_) + 255) / 256 * 256;
  }
  [[nodiscard]] vector_ref vector(std::size_t i) const {
    return {type_, vectors_.data() + i * vector_bytes(), n_, ctx().space(), ctx().device()};
  }
  [[nodiscard]] double norm_of(const vector_ref& v) const {
    ops_.norm2(v, norm_);
    return to_vector(ctx(), norm_).front();
  }

  /// Of D^-1 A.
  [[nodiscard]] double largest_eigenvalue() const {
    const vector_ref inverse = vector(0), v = vector(1), w = vector(2);
    ops_.random(1, v);
    double before = norm_of(v), found = 0;
    for (int i = 0; i < power_steps; ++i) {
      a_.apply(1 / before, v, 0, w);
      ops_.multiply(1, inverse, w, 0, v);
      before = found = norm_of(v);
    }
    return found;
  }

  void do_apply(double alpha, const const_vector_ref& x, double beta, const vector_ref& y, call how) const override {
    const vector_ref inverse = vector(0), z = vector(1), r = vector(2), d = vector(3);
    const auto& s = how.stream;
    const double sigma = center_ / radius_;
    double rho = 1 / sigma;
    ops_.multiply(1 / center_, inverse, x, 0, d, s);
    ops_.copy(x, r, s);
    ops_.copy(d, z, s);
    for (int k = 0; k < degree_; ++k) {
      a_.apply(-1, d, 1, r, {.stream = s});
      const double next = 1 / (2 * sigma - rho);
      ops_.multiply(2 * next / radius_, inverse, r, next * rho, d, s);
      ops_.axpby(1, d, 1, z, s);
      rho = next;
    }
    ops_.axpby(alpha, z, beta, y, s);
  }

  vector_ops ops_;
  const linear_operator& a_;
  index_t n_;
  int degree_;
  scalar_type type_;
  mutable buffer<std::byte> vectors_;  // D^-1, z, r, d
  mutable buffer<double> norm_;
  double center_ = 1, radius_ = 1;
};

}  // namespace

std::unique_ptr<preconditioner> make_chebyshev(const context& ctx, const cg_problem& problem,
                                               const linear_operator& a) {
  return std::make_unique<chebyshev>(ctx, problem, a);
}

}  // namespace tulle::detail
