// What the test bodies share: the operator of a case, a result that is written twice between guards, and its reference.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <tulle/ops/verify.hpp>
#include <vector>

#include "conformance/spmv_case.hpp"
#include "support/guarded_vector.hpp"
#include "support/typed_matrix.hpp"

namespace tulle::test {

/// Calls body(typed matrix, operator), or skips the test where the kernel declines the matrix.
template <class Body>
void with_operator(const context& ctx, const spmv_case& c, const Body& body) {
  dispatch_operation<every_type>(c.types, [&]<class S, class T, class O>() {
    typed_matrix<S, O, T> a(ctx, *c.matrix);
    const csr_stats stats = statistics(ctx, a.device());
    const support supported = c.kernel->supports(stats, c.types.matrix(), ctx.info());
    if (!supported.ok) GTEST_SKIP() << supported.reason;
    std::unique_ptr<spmv_operator> op;
    try {
      op = c.reordered ? make_reordered(ctx, matrix_ref(a.device()), c)
                       : c.kernel->make(ctx, matrix_ref(a.device()), stats, c.options);
    } catch (const error& e) {
      if (e.code() != status::unsupported) throw;
      GTEST_SKIP() << e.what();
    }
    body(a, *op);
  });
}

/// What write(y) leaves in a y that held `before`, of which intact(y) must hold: nothing around it is written, and
/// where the result is `reproducible` a second run gives the same bits.
template <scalar T, class Write, class Intact>
std::vector<T> written_twice(const context& ctx, const std::vector<T>& before, bool misaligned, bool reproducible,
                             const Write& write, const Intact& intact) {
  std::vector<T> first;
  for (int repeat = 0; repeat < 2; ++repeat) {
    guarded_vector<T> y(ctx, before, misaligned);
    write(y.data());
    const std::vector<T> now = y.values();
    EXPECT_TRUE(y.guards_intact() && intact(now)) << "wrote outside y";
    if (repeat == 0) first = now;
    EXPECT_TRUE(!reproducible || same_bits(first, now)) << "the second run gave other bits";
  }
  return first;
}
template <scalar T, class Write>
std::vector<T> written_twice(const context& ctx, const std::vector<T>& before, bool misaligned, bool reproducible,
                             const Write& write) {
  return written_twice(ctx, before, misaligned, reproducible, write, [](const std::vector<T>&) { return true; });
}

/// alpha A x + beta y0, where y0 is not read for beta = 0.
template <scalar T, offset O>
spmv_reference reference_of(double alpha, const csr_view<T, O>& a, const std::vector<T>& x, double beta,
                            const std::vector<T>& y0) {
  const host_span<const T> before = beta == 0 ? host_span<const T>() : host_span<const T>(y0);
  return reference_spmv(context::cpu(1), static_cast<T>(alpha), a, host_span<const T>(x), static_cast<T>(beta), before);
}

/// The first element that misses its bound, for a failure's message.
template <scalar T>
std::string worst_of(const spmv_reference& reference, const std::vector<T>& y) {
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double value = reference.value[i], bound = reference.bound[i], got = static_cast<double>(y[i]);
    const spmv_reference one{{value}, {}, {bound}};
    if (!(error_ratio(one, host_span<const T>(&y[i], 1)) <= 1)) {
      return fmt::format("y[{}] is {}, not {} within {}", i, got, value, bound);
    }
  }
  return {};
}

}  // namespace tulle::test
