// Plans of y = A x: the 2 x 3 matrix whose products are told by hand, options, and the bound that holds for all.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <tulle/ops/spmv.hpp>
#include <tulle/ops/verify.hpp>

#include "support/plain_csr.hpp"

namespace tulle::test {

/// [[1 2 0] [0 0 3]]
inline csr<double> small_csr(const context& ctx) { return plain_csr<>{2, 3, {0, 2, 3}, {0, 1, 2}, {1, 2, 3}}.on(ctx); }

inline spmv_options with_kernel(std::string_view name) {
  spmv_options options;
  options.kernel = name;
  return options;
}
inline spmv_options with_effort(spmv_effort effort, bool transpose = false) {
  spmv_options options;
  options.effort = effort;
  options.transpose = transpose;
  return options;
}

/// y = alpha A x, on the host, each element within its bound.
inline void expect_applied(double alpha, const csr<double>& a, host_span<const double> x, host_span<const double> y) {
  EXPECT_LE(error_ratio<double>(reference_spmv<double>(context::cpu(2), alpha, a.view(), x, 0, {}), y), 1);
}
/// alpha A x by the operator, for x = 1, 1/2, 1/3, ..., each element within its bound.
inline void expect_applies(const linear_operator& op, double alpha, const csr<double>& a) {
  std::vector<double> x(static_cast<std::size_t>(a.cols)), y(static_cast<std::size_t>(a.rows));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1 / (1.0 + static_cast<double>(i));
  op.apply(alpha, x, 0, y);
  expect_applied(alpha, a, x, y);
}

}  // namespace tulle::test
