// Systems to solve on every backend by every kernel of the table of solvers, and what a solution is held to.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <tulle/tulle.hpp>
#include <vector>

#include "support/backends.hpp"
#include "support/errors.hpp"
#include "support/plain_csr.hpp"
#include "support/random.hpp"
#include "support/types.hpp"

namespace tulle::test {

inline const std::vector<preconditioner_kind>& preconditioners() {
  using enum preconditioner_kind;
  static const std::vector<preconditioner_kind> all{none, jacobi, block_jacobi, chebyshev};
  return all;
}

/// ||b - A x|| in long double, and what rounding b - A x in T may make of it.
struct residual_norm {
  long double value = 0;
  long double rounding = 0;
};
template <class T>
residual_norm residual_of(const plain_csr<T>& a, const std::vector<T>& b, const std::vector<T>& x) {
  residual_norm out;
  for (index_t r = 0; r < a.rows; ++r) {
    long double sum = b[r], absolute = std::fabs(sum);
    for (auto k = a.rowptr[r]; k < a.rowptr[r + 1]; ++k) {
      const long double product = static_cast<long double>(a.values[k]) * x[a.colind[k]];
      sum -= product;
      absolute += std::fabs(product);
    }
    const auto terms = static_cast<long double>(a.length(r) + 3);
    const long double gamma = terms * std::numeric_limits<T>::epsilon();
    out.value += sum * sum;
    out.rounding += gamma * gamma * absolute * absolute;
  }
  return {std::sqrt(out.value), std::sqrt(out.rounding)};
}
template <class T>
long double norm_of(const std::vector<T>& x) {
  long double sum = 0;
  for (const T v : x) sum += static_cast<long double>(v) * v;
  return std::sqrt(sum);
}

/// Of a norm that is summed in f64, relative to it.
inline long double norm_error(std::size_t n) {
  return static_cast<long double>(n + 4) / 2 * std::numeric_limits<double>::epsilon();
}

/// A right-hand side in [-1, 1], the same every time.
template <class T>
std::vector<T> random_rhs(index_t n, std::uint64_t seed = 7) {
  std::vector<T> b(static_cast<std::size_t>(n));
  vector_ops(context::cpu(1)).random(seed, b);
  return b;
}

template <class T>
plain_csr<T> generated(const std::string& spec) {
  return plain<T>(context::cpu(2), matrix_ref(generate<T>(context::cpu(2), spec)));
}

class solver_fixture : public on_backend {
 protected:
  template <class T>
  struct solved {
    cg_result result;
    std::vector<T> x;
  };

  /// With every kernel that takes the matrix: f(solver, kernel's name). Where none does the test fails.
  template <class T, class F>
  void for_kernels(const plain_csr<T>& a, cg_options options, const F& f) {
    int taken = 0;
    for (const kernel_info& k : kernels(ctx().backend())) {
      if (k.operation != kernel_operation::cg) continue;
      options.kernel = std::string(k.name);
      SCOPED_TRACE(fmt::format("{} with {}", k.name, name(options.preconditioner)));
      std::optional<cg_solver> solver;
      const auto [code, message] = failure_of([&] { solver.emplace(ctx(), matrix_ref(a.view()), options); });
      if (code == status::unsupported) continue;
      ASSERT_EQ(name(code), "SUCCESS") << message;
      f(*solver);
      ++taken;
    }
    EXPECT_GT(taken, 0);
  }

  template <class T>
  solved<T> solve(const cg_solver& solver, const std::vector<T>& b, const std::vector<T>& guess) {
    const buffer<T> rhs = to_buffer(ctx(), b);
    buffer<T> x = to_buffer(ctx(), guess);
    const cg_result result = solver.solve(rhs, x);
    return {result, to_vector(ctx(), x)};
  }
  template <class T>
  solved<T> solve(const cg_solver& solver, const std::vector<T>& b) {
    return solve(solver, b, std::vector<T>(b.size()));
  }

  /// The status is SUCCESS exactly where what is reported is small enough, and what is reported is true.
  template <class T>
  static void expect_true_report(const plain_csr<T>& a, const std::vector<T>& b, const solved<T>& s,
                                 const cg_options& options) {
    const residual_norm truth = residual_of(a, b, s.x);
    EXPECT_LE(std::fabs(s.result.residual - truth.value), truth.rounding);
    const double target = std::max(options.rtol * s.result.rhs, options.atol);
    EXPECT_EQ(s.result.converged(), s.result.residual <= target) << s.result.residual << " and " << target;
    const long double norm = norm_of(b);
    EXPECT_LE(std::fabs(s.result.rhs - norm), norm * norm_error(b.size()));
  }
  static std::string status_of(const cg_result& result) { return std::string(name(static_cast<status>(result.code))); }
};

#define TULLE_ON_SOLVERS(suite) TULLE_ON_BACKENDS(suite, "cpu1", "cpu3", "cuda")

}  // namespace tulle::test
