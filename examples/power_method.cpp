// Two largest eigenvalues of a symmetric matrix by the power method: tulle_example_power_method [cpu|cuda]
//
// The method knows linear operators, not matrices: it runs on a plan for A, and on a matrix-free operator of our own,
// A - lambda v v^T, which has the same eigenvectors, and the eigenvalue 0 for v (Hotelling's deflation; Saad, Numerical
// Methods for Large Eigenvalue Problems, 2011, section 4.2). Both run on the CPU and on a GPU, whose scalars stay
// there.
#include <cmath>
#include <cstdio>
#include <tulle/tulle.hpp>

#include "backend.hpp"

namespace {

using vector = tulle::buffer<double>;

/// A - lambda v v^T for any symmetric A. Borrows all that it is made of.
class deflated final : public tulle::linear_operator {
 public:
  deflated(const tulle::vector_ops& ops, const tulle::linear_operator& a, double lambda, const vector& v)
      : ops_(ops), a_(a), lambda_(lambda), v_(v), product_(ops.ctx(), 1) {}

  [[nodiscard]] const tulle::context& ctx() const noexcept override { return a_.ctx(); }
  [[nodiscard]] tulle::shape dimensions() const noexcept override { return a_.dimensions(); }
  [[nodiscard]] tulle::scalar_type vector_type() const noexcept override { return a_.vector_type(); }
  [[nodiscard]] std::string_view label() const noexcept override { return "A - lambda v v^T"; }

 protected:
  void do_apply(double alpha, const tulle::const_vector_ref& x, double beta, const tulle::vector_ref& y,
                call how) const override {
    a_.apply(alpha, x, beta, y, {.stream = how.stream, .transposed = how.transposed});
    ops_.dot(v_, x, product_, how.stream);
    ops_.axpby({-alpha * lambda_, tulle::scalar_ref(product_)}, v_, 1, y, how.stream);
  }

 private:
  const tulle::vector_ops& ops_;
  const tulle::linear_operator& a_;
  double lambda_;
  const vector& v_;
  mutable vector product_;  // v . x
};

/// The eigenvalue of largest magnitude; `v` becomes its eigenvector, of length 1. The host waits for nothing but the
/// eigenvalue.
double power_method(const tulle::vector_ops& ops, const tulle::linear_operator& a, vector& v, int steps) {
  vector w(ops.ctx(), v.size()), scalar(ops.ctx(), 1);
  ops.random(1, v);
  for (int step = 0; step < steps; ++step) {
    a.apply(1, v, 0, w);
    ops.norm2(w, scalar);
    ops.axpby({1, 1.0, tulle::scalar_ref(scalar)}, w, 0, v);  // v = w / |w|
  }
  a.apply(1, v, 0, w);
  ops.dot(v, w, scalar);
  return to_vector(ops.ctx(), scalar)[0];
}

/// |A v - lambda v|.
double residual(const tulle::vector_ops& ops, const tulle::linear_operator& a, double lambda, const vector& v) {
  vector w = clone(ops.ctx(), v), norm(ops.ctx(), 1);
  a.apply(1, v, -lambda, w);
  ops.norm2(w, norm);
  return to_vector(ops.ctx(), norm)[0];
}

/// The adjacency matrix of a graph whose edges point both ways.
tulle::matrix_ref graph(const tulle::context& ctx) {
  const auto host = tulle::context::cpu();
  tulle::csr<double> links = tulle::generate<double>(host, "gen:rmat:scale=12");
  tulle::vector_ops(host).fill(1, links.values);
  return add(ctx, 1, links, 1, transpose(ctx, links).matrix);
}

}  // namespace

int main(int argc, char** argv) try {
  const tulle::context ctx = take_context(argc, argv);
  if (argc > 1) show_usage("tulle_example_power_method [cpu|cuda]");
  const tulle::vector_ops ops(ctx);
  const tulle::any_spmv_plan a(ctx, graph(ctx));
  const auto n = static_cast<std::size_t>(a.dimensions().rows);

  vector v(ctx, n), w(ctx, n);
  const double first = power_method(ops, a, v, 40);
  const deflated rest(ops, a, first, v);
  const double second = power_method(ops, rest, w, 200);

  const double errors[] = {residual(ops, a, first, v), residual(ops, a, second, w)};
  std::printf("%s\neigenvalues %.12g and %.12g, residuals %.1e and %.1e\n", a.explain().c_str(), first, second,
              errors[0], errors[1]);
  if (errors[0] <= 1e-9 * first && errors[1] <= 1e-9 * first) return std::printf("converged\n"), 0;
  return std::fprintf(stderr, "not converged\n"), 4;
} catch (const tulle::error& e) {
  return std::fprintf(stderr, "%s\n", e.what()), 1;
}
