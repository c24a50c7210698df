#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "conformance/checks.hpp"
#include "conformance/spmv_case.hpp"

namespace tulle::test {
namespace {

/// gamma(k) = k u / (1 - k u).
template <scalar T>
double gamma(double k) {
  const double u = std::numeric_limits<T>::epsilon() / 2;
  return k * u / (1 - k * u);
}

/// A NaN or an infinity need only stay one: which of them depends on the order of the sum.
template <class V>
void expect_near(V value, long double expected, long double bound, std::string_view what) {
  if (!std::isfinite(expected)) {
    EXPECT_FALSE(std::isfinite(value)) << what;
  } else {
    EXPECT_LE(std::abs(static_cast<long double>(value) - expected), bound) << what << ": " << value;
  }
}

template <scalar T>
void check_dot(double value, const std::vector<T>& a, const std::vector<T>& b, std::string_view what) {
  long double sum = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const long double product = static_cast<long double>(a[i]) * b[i];
    sum += product;
    size += std::abs(product);
  }
  expect_near(value, sum, gamma<T>(static_cast<double>(a.size()) + 2) * size, what);
}

/// Dot products in D.
template <scalar D, scalar S, scalar T, offset O>
void check_dots(const context& ctx, const spmv_case& c, spmv_operator& op, const typed_matrix<S, O, T>& a, double alpha,
                double beta) {
  const battery_matrix& m = *c.matrix;
  SCOPED_TRACE(fmt::format("alpha={} beta={}", alpha, beta));
  const std::vector<T> x = random_vector<T>(m.cols, 42, m.x_special), w = random_vector<T>(m.rows, 43);
  const std::vector<T> y0 = initial_y<T>(m.rows, beta);
  guarded_vector<T> in_x(ctx, x, m.misaligned), in_w(ctx, w, m.misaligned);
  std::vector<D> dots;
  const std::vector<T> y = written_twice(ctx, y0, m.misaligned, true, [&](T* to) {
    guarded_vector<D> out(ctx, initial_y<D>(2, 0), m.misaligned);
    const vector_ref to_dots(scalar_type_of<D>, out.data(), 2, ctx.space());
    op.apply_dots(alpha, in_x.data(), beta, to, in_w.data(), to_dots, ctx.stream());
    EXPECT_TRUE(out.guards_intact()) << "wrote outside the dot products";
    if (dots.empty()) dots = out.values();
    EXPECT_TRUE(same_bits(dots, out.values())) << "the second run gave other bits";
  });
  EXPECT_TRUE(in_x.unchanged() && in_w.unchanged()) << "wrote to x, w or around them";
  EXPECT_LE(error_ratio(reference_of(alpha, a.host(), x, beta, y0), host_span<const T>(y)), 1);
  check_dot<T>(dots[0], w, y, "w . y");
  check_dot<T>(dots[1], y, y, "y . y");
}

}  // namespace

void run_dots_case(const context& ctx, const spmv_case& c) {
  with_operator(ctx, c, [&]<scalar S, scalar T, offset O>(const typed_matrix<S, O, T>& a, spmv_operator& op) {
    for (const auto& [alpha, beta] : {std::pair{1.0, 0.0}, {2.5, -1.0}}) check_dots<T>(ctx, c, op, a, alpha, beta);
    if constexpr (std::same_as<T, float>) check_dots<double>(ctx, c, op, a, 1, 0);
  });
}

void run_jacobi_case(const context& ctx, const spmv_case& c) {
  with_operator(ctx, c, [&]<scalar S, scalar T, offset O>(const typed_matrix<S, O, T>& a, spmv_operator& op) {
    const battery_matrix& m = *c.matrix;
    const double omega = 0.75;
    const std::vector<T> x = random_vector<T>(m.cols, 42, m.x_special), b = random_vector<T>(m.rows, 44),
                         d = random_vector<T>(m.rows, 45);
    guarded_vector<T> in_x(ctx, x, m.misaligned), in_b(ctx, b, m.misaligned), in_d(ctx, d, m.misaligned);
    const std::vector<T> y = written_twice(ctx, initial_y<T>(m.rows, 0), m.misaligned, true, [&](T* to) {
      op.apply_jacobi(omega, in_x.data(), in_b.data(), in_d.data(), to, ctx.stream());
    });
    EXPECT_TRUE(in_x.unchanged() && in_b.unchanged() && in_d.unchanged()) << "wrote to an input";
    const spmv_reference residual = reference_of(-1, a.host(), x, 1, b);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const long double low = residual.value_low.empty() ? 0 : residual.value_low[i];
      const long double r = residual.value[i] + low, scale = omega * static_cast<long double>(d[i]);
      const long double bound = std::abs(scale) * residual.bound[i] * (1 + gamma<T>(4)) +
                                gamma<T>(4) * (std::abs(static_cast<long double>(x[i])) + std::abs(scale * r));
      expect_near(y[i], x[i] + scale * r, bound, fmt::format("row {}", i));
    }
  });
}

}  // namespace tulle::test
