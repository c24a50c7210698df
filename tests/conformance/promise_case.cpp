// Values stored in fewer bits than they have: the error stays below what was promised, or what the operator says was lost.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "conformance/checks.hpp"
#include "conformance/spmv_case.hpp"

namespace tulle::test {
namespace {

/// The largest error over the bound of rounding alone and over the bound with the promise.
struct ratios {
  double rounding;
  double promised;
};

template <offset O>
ratios ratios_of(const context& ctx, spmv_operator& op, const typed_matrix<double, O>& a, const battery_matrix& m,
                 double beta, const value_tolerance& promise) {
  const std::vector<double> x = random_numbers(static_cast<std::size_t>(m.cols), 42),
                            y0 = random_numbers(static_cast<std::size_t>(m.rows), 43);
  guarded_vector<double> device_x(ctx, x, m.misaligned);
  const std::vector<double> y = written_twice(
      ctx, y0, m.misaligned, true, [&](double* to) { op.apply(2.5, device_x.data(), beta, to, ctx.stream()); });
  spmv_reference reference = reference_of(2.5, a.host(), x, beta, y0);
  const double rounding = error_ratio(reference, host_span<const double>(y));
  add_promise(reference, 2.5, a.host(), host_span<const double>(x), promise);
  return {rounding, error_ratio(reference, host_span<const double>(y))};
}

void expect_error_within(const context& ctx, spmv_operator& op, const auto& a, const spmv_case& c, double beta) {
  const stored_values stored = op.stored();
  std::int64_t entries = 0;
  for (const stored_share& s : stored.shares) entries += s.entries;
  if (!stored.shares.empty()) {
    EXPECT_EQ(entries, c.matrix->nnz());
  }
  const bool by_size = c.options.value_rule.has_value();
  const ratios now = ratios_of(ctx, op, a, *c.matrix, beta,
                               by_size ? value_tolerance{stored.lost, error_bound::componentwise} : c.options.values);
  EXPECT_LE(now.promised, 1);
  if (stored.lost == 0) {
    EXPECT_LE(now.rounding, 1) << "bits were left out without saying so";
  }
  if (!by_size && c.options.values.bound == error_bound::componentwise) {
    EXPECT_LE(stored.lost, c.options.values.tolerance);
  }
}

}  // namespace

void run_promise_case(const context& ctx, const spmv_case& c) {
  dispatch_operation<type_set::floating>(c.types, [&]<class S, class T, class O>() {
    if constexpr (std::same_as<S, double>) {
      typed_matrix<double, O> a(ctx, *c.matrix);
      const csr_stats stats = statistics(ctx, a.device());
      if (const support s = c.kernel->supports(stats, c.types.matrix(), ctx.info()); !s.ok) GTEST_SKIP() << s.reason;
      const auto op = c.kernel->make(ctx, matrix_ref(a.device()), stats, c.options);
      SCOPED_TRACE(op->parameters());
      for (const double beta : {0.0, -1.0}) expect_error_within(ctx, *op, a, c, beta);
      std::vector<double> tiny = c.matrix->values;  // subnormal or 0 in f32
      std::ranges::for_each(tiny, [](double& v) { v *= 1e-42; });
      for (const std::vector<double>& values : {tiny, random_numbers(tiny.size(), 1234)}) {
        a.replace_values(values);
        op->update_values(matrix_ref(a.device()));
        SCOPED_TRACE("after update_values: " + op->parameters());
        expect_error_within(ctx, *op, a, c, 0);
      }
    }
  });
}

}  // namespace tulle::test
