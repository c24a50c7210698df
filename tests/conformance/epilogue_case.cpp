#include "conformance/spmv_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <tulle/ops/verify.hpp>
#include <vector>

#include "support/guarded_vector.hpp"
#include "support/typed_matrix.hpp"

namespace tulle::test {
namespace {

/// gamma(k) = k u / (1 - k u).
template <scalar T>
double gamma(double k) {
  const double u = std::numeric_limits<T>::epsilon() / 2;
  return k * u / (1 - k * u);
}

/// A NaN or an infinity need only stay one: which of them depends on the order of the sum.
template <scalar T>
void expect_near(T value, long double expected, long double bound, std::string_view what) {
  if (!std::isfinite(expected)) {
    EXPECT_FALSE(std::isfinite(value)) << what;
  } else {
    EXPECT_LE(std::abs(static_cast<long double>(value) - expected), bound) << what << ": " << value;
  }
}

template <scalar T>
void check_dot(T value, const std::vector<T>& a, const std::vector<T>& b, std::string_view what) {
  long double sum = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const long double product = static_cast<long double>(a[i]) * b[i];
    sum += product;
    size += std::abs(product);
  }
  expect_near(value, sum, gamma<T>(static_cast<double>(a.size()) + 2) * size, what);
}

template <scalar S, scalar T, offset O>
void check_dots(const context& ctx, const spmv_case& c, spmv_operator& op, const typed_matrix<S, O, T>& a, double alpha,
                double beta) {
  const battery_matrix& m = *c.matrix;
  SCOPED_TRACE(fmt::format("alpha={} beta={}", alpha, beta));
  const std::vector<T> x = random_vector<T>(m.cols, 42, m.x_special), w = random_vector<T>(m.rows, 43);
  const std::vector<T> y0 = initial_y<T>(m.rows, beta);
  guarded_vector<T> in_x(ctx, x, m.misaligned), in_w(ctx, w, m.misaligned);
  std::vector<T> first_y, first_dots;
  for (int repeat = 0; repeat < 2; ++repeat) {
    guarded_vector<T> y(ctx, y0, m.misaligned), dots(ctx, initial_y<T>(2, 0), m.misaligned);
    op.apply_dots(alpha, in_x.data(), beta, y.data(), in_w.data(), dots.data(), ctx.stream());
    EXPECT_TRUE(y.guards_intact() && dots.guards_intact()) << "wrote outside y or the dot products";
    if (repeat == 0) {
      first_y = y.values();
      first_dots = dots.values();
    } else {
      EXPECT_TRUE(same_bits(first_y, y.values()) && same_bits(first_dots, dots.values())) << "other bits";
    }
  }
  EXPECT_TRUE(in_x.unchanged() && in_w.unchanged()) << "wrote to x, w or around them";
  const host_span<const T> y_before = beta == 0 ? host_span<const T>() : host_span<const T>(y0);
  const spmv_reference reference = reference_spmv(context::cpu(1), static_cast<T>(alpha), a.host(),
                                                  host_span<const T>(x), static_cast<T>(beta), y_before);
  EXPECT_LE(error_ratio(reference, host_span<const T>(first_y)), 1);
  check_dot(first_dots[0], w, first_y, "w . y");
  check_dot(first_dots[1], first_y, first_y, "y . y");
}

/// Skips the test, or calls body(typed matrix, operator).
template <class Body>
void with_operator(const context& ctx, const spmv_case& c, const Body& body) {
  dispatch_operation<every_type>(c.types, [&]<class S, class T, class O>() {
    const typed_matrix<S, O, T> a(ctx, *c.matrix);
    const csr_stats stats = statistics(ctx, a.device());
    const support supported = c.kernel->supports(stats, c.types.matrix(), ctx.info());
    if (!supported.ok) GTEST_SKIP() << supported.reason;
    const auto op = c.kernel->make(ctx, matrix_ref(a.device()), stats, c.options);
    body(a, *op);
  });
}

}  // namespace

void run_dots_case(const context& ctx, const spmv_case& c) {
  with_operator(ctx, c, [&]<scalar S, scalar T, offset O>(const typed_matrix<S, O, T>& a, spmv_operator& op) {
    for (const auto& [alpha, beta] : {std::pair{1.0, 0.0}, {2.5, -1.0}}) check_dots(ctx, c, op, a, alpha, beta);
  });
}

void run_jacobi_case(const context& ctx, const spmv_case& c) {
  with_operator(ctx, c, [&]<scalar S, scalar T, offset O>(const typed_matrix<S, O, T>& a, spmv_operator& op) {
    const battery_matrix& m = *c.matrix;
    const double omega = 0.75;
    const std::vector<T> x = random_vector<T>(m.cols, 42, m.x_special), b = random_vector<T>(m.rows, 44),
                         d = random_vector<T>(m.rows, 45);
    guarded_vector<T> in_x(ctx, x, m.misaligned), in_b(ctx, b, m.misaligned), in_d(ctx, d, m.misaligned);
    std::vector<T> first;
    for (int repeat = 0; repeat < 2; ++repeat) {
      guarded_vector<T> y(ctx, initial_y<T>(m.rows, 0), m.misaligned);
      op.apply_jacobi(omega, in_x.data(), in_b.data(), in_d.data(), y.data(), ctx.stream());
      EXPECT_TRUE(y.guards_intact()) << "wrote outside y";
      if (repeat == 0) first = y.values();
      EXPECT_TRUE(same_bits(first, y.values())) << "other bits";
    }
    EXPECT_TRUE(in_x.unchanged() && in_b.unchanged() && in_d.unchanged()) << "wrote to an input";
    const spmv_reference residual = reference_spmv(context::cpu(1), T{-1}, a.host(), host_span<const T>(x), T{1},
                                                   host_span<const T>(b));
    for (std::size_t i = 0; i < first.size(); ++i) {
      const long double low = residual.value_low.empty() ? 0 : residual.value_low[i];
      const long double r = residual.value[i] + low, scale = omega * static_cast<long double>(d[i]);
      const long double bound = std::abs(scale) * residual.bound[i] * (1 + gamma<T>(4)) +
                                gamma<T>(4) * (std::abs(static_cast<long double>(x[i])) + std::abs(scale * r));
      expect_near(first[i], x[i] + scale * r, bound, fmt::format("row {}", i));
    }
  });
}

}  // namespace tulle::test
