// Plans of C = M o (alpha A B) + beta D on either backend: operands from either side in every state, and new values.
#include <limits>
#include <numeric>
#include <vector>

#include "support/backends.hpp"
#include "support/random.hpp"
#include "support/spgemm.hpp"
#include "support/types.hpp"

namespace tulle::test {
namespace {

constexpr rows_are every_order[] = {rows_are::increasing, rows_are::shuffled, rows_are::repeating};

class SpgemmPlan : public on_backend {
 protected:
  static constexpr index_t rows = 223, inner = 131, cols = 319;

  plain_csr<> a = random_csr(rows, inner, 4, 1), b = random_csr(inner, cols, 5, 2);
};
TULLE_ON_BOTH_BACKENDS(SpgemmPlan);

TEST_P(SpgemmPlan, OperandsInEveryOrder) {
  for_types_and_offsets<double, float>([&]<class T, class O>() {
    for (const rows_are order_a : every_order) {
      for (const rows_are order_b : every_order) {
        SCOPED_TRACE(static_cast<int>(order_a) * 10 + static_cast<int>(order_b));
        const auto x = random_csr<T, O>(rows, inner, 4, 1, order_a), y = random_csr<T, O>(inner, cols, 5, 2, order_b);
        const spgemm_expectation<T, O> expected{.a = x.view(), .b = y.view()};
        for (const char* kernel : {"", "gustavson", "kernel0"}) {
          SCOPED_TRACE(kernel);
          spgemm_plan<T> plan(ctx(), x.view(), y.view(), {.kernel = kernel});
          const matrix_ref c = plan.multiply();
          expect_product(expected, ctx(), c);
          EXPECT_EQ(plan.nnz(), c.nnz);
          EXPECT_EQ(plan.dimensions(), (shape{rows, cols}));
        }
        expect_product(expected, ctx(), spgemm(ctx(), x.on(ctx()), y.on(ctx())));
        const auto xt = transposed(x), yt = transposed(y);
        for (int which = 1; which < 4; ++which) {
          const bool transpose_x = (which & 1) != 0, transpose_y = (which & 2) != 0;
          spgemm_plan<T> plan(ctx(), (transpose_x ? xt : x).view(), (transpose_y ? yt : y).view(),
                              {.transpose_a = transpose_x, .transpose_b = transpose_y});
          expect_product(expected, ctx(), plan.multiply());
        }
        spgemm_plan<T> x_xt(ctx(), x.view(), x.view(), {.transpose_b = true});
        expect_product<T, O>({.a = x.view(), .b = xt.view()}, ctx(), x_xt.multiply());
        spgemm_plan<T> xt_x(ctx(), x.view(), x.view(), {.transpose_a = true});
        expect_product<T, O>({.a = xt.view(), .b = x.view()}, ctx(), xt_x.multiply());
      }
    }
  });
}

TEST_P(SpgemmPlan, MaskAlphaAndD) {
  for_types_and_offsets<double, float>([&]<class T, class O>() {
    for (const rows_are order : every_order) {
      const auto x = random_csr<T, O>(rows, inner, 4, 1), y = random_csr<T, O>(inner, cols, 5, 2, order),
                 mask = random_csr<T, O>(rows, cols, 9, 3, order), d = random_csr<T, O>(rows, cols, 3, 4, order);
      auto pattern = mask.view();
      pattern.values = nullptr;  // are not read
      for (int which = 0; which < 4; ++which) {
        SCOPED_TRACE(which);
        spgemm_expectation<T, O> expected{.a = x.view(), .b = y.view()};
        if (which & 1) expected.mask = pattern;
        if (which & 2) expected.d = d.view();
        spgemm_plan<T> plan(ctx(), x.view(), y.view(), {}, terms_of(expected));
        for (const T alpha : {T{1}, T{-2.5}, T{0}}) {
          for (const T beta : {T{0}, T{1}, T{0.3f}}) {
            if (beta != 0 && !expected.d) continue;
            expected.alpha = alpha;
            expected.beta = beta;
            expect_plan(plan, expected);
          }
        }
      }
    }
  });
}

TEST_P(SpgemmPlan, OneShotMasked) {
  const auto mask = random_csr(rows, cols, 8, 3, rows_are::shuffled);
  expect_product<double>({.a = a.view(), .b = b.view(), .mask = mask.view()}, ctx(),
                         spgemm_masked(ctx(), a.on(ctx()), b.on(ctx()), mask.on(ctx())));
}

TEST_P(SpgemmPlan, OneMatrixAsEveryOperand) {
  const auto m = random_csr(250, 250, 4, 7);
  spgemm_plan<double> plan(ctx(), m.view(), m.view(), {}, {.mask = m.view(), .d = m.view()});
  expect_product<double>({m.view(), m.view(), m.view(), m.view(), 2, -1}, ctx(), plan.multiply(2, -1));
  std::int64_t products = 0;
  for (const index_t c : m.colind) products += m.length(c);
  EXPECT_EQ(plan.products(), products);
}

TEST_P(SpgemmPlan, NewValuesInTheSamePatterns) {
  for (const rows_are order : {rows_are::increasing, rows_are::repeating}) {
    for (const bool transposes : {false, true}) {
      for (const bool with_mask : {false, true}) {
        auto l = random_csr(rows, inner, 4, 1, order), r = random_csr(inner, cols, 5, 2, order);
        if (transposes) std::tie(l, r) = std::pair(transposed(l), transposed(r));
        const auto d = random_csr(rows, cols, 3, 3, order), mask = random_csr(rows, cols, 9, 4, order);
        spgemm_terms terms{.d = d.view()};
        if (with_mask) terms.mask = mask.view();
        spgemm_plan<double> plan(ctx(), l.view(), r.view(), {.transpose_a = transposes, .transpose_b = transposes},
                                 terms);
        auto c = plan.multiply();

        const auto expect = [&](const plain_csr<>& x, const plain_csr<>& y, const plain_csr<>& z) {
          const auto left = transposes ? transposed(x) : x, right = transposes ? transposed(y) : y;
          spgemm_expectation<double> expected{left.view(), right.view(), {}, z.view(), 2, 3};
          if (with_mask) expected.mask = mask.view();
          plan.numeric(c, 2, 3);
          expect_product(expected, ctx(), c);
          expect_product(expected, ctx(), plan.multiply(2, 3));
        };
        const auto scaled = [](plain_csr<> m, double by) {
          for (double& v : m.values) v *= by;
          return m;
        };
        const auto l2 = scaled(l, 1.25), r2 = scaled(r, -0.4), d2 = scaled(d, 7);
        auto on_l = to_buffer(ctx(), l.values);
        const auto on_l2 = to_buffer(ctx(), l2.values), on_r2 = to_buffer(ctx(), r2.values),
                   on_d2 = to_buffer(ctx(), d2.values);
        plan.update_values(on_l2, on_r2, on_d2);
        expect(l2, r2, d2);
        plan.update_values(on_l, on_r2);  // D stays
        expect(l, r2, d2);
        if (ctx().backend() != backend_kind::cpu) continue;
        on_l.data()[0] = l.values[0] = 17;  // present values count, without a call
        expect(l, r2, d2);
      }
    }
  }
}

TEST_P(SpgemmPlan, BetaZeroOverwritesNanOfD) {
  auto d = random_csr(rows, cols, 3, 3);
  for (double& v : d.values) v = std::numeric_limits<double>::quiet_NaN();
  spgemm_plan<double> plan(ctx(), a.view(), b.view(), {}, {.d = d.view()});
  expect_product<double>({.a = a.view(), .b = b.view(), .d = d.view(), .beta = 0}, ctx(), plan.multiply(1, 0));
}

TEST_P(SpgemmPlan, EmptyShapes) {
  for (const auto& [m, k, n] : {std::tuple{0, 0, 0}, {0, 5, 3}, {4, 0, 3}, {4, 5, 0}, {1, 1, 1}, {4, 5, 3}}) {
    SCOPED_TRACE(std::to_string(m) + " " + std::to_string(k) + " " + std::to_string(n));
    const auto l = random_csr(m, k, 2, 1), r = random_csr(k, n, 2, 2), d = random_csr(m, n, 1, 3),
               mask = random_csr(m, n, 1, 4);
    expect_product<double>({.a = l.view(), .b = r.view()}, ctx(), spgemm(ctx(), l.on(ctx()), r.on(ctx())));
    spgemm_plan<double> plan(ctx(), l.view(), r.view(), {}, {.mask = mask.view(), .d = d.view()});
    expect_product<double>({l.view(), r.view(), mask.view(), d.view(), 1, 2}, ctx(), plan.multiply(1, 2));
  }
}

/// A row of the mask may be dense, and C's row under it sparse over more columns than a window has.
TEST(masked_product, numeric_where_the_mask_is_dense_and_the_row_is_not) {
  const context ctx = context::cpu(1);
  constexpr index_t wide = 1 << 20;
  const std::vector<std::int32_t> of_a{0, 2}, of_b{0, 1, 2}, of_mask{0, wide};
  const std::vector<index_t> in_a{0, 1}, in_b{0, wide - 1};
  std::vector<index_t> in_mask(wide);
  std::iota(in_mask.begin(), in_mask.end(), 0);
  const std::vector<double> a{1, 2}, b{3, 4}, mask(wide, 1.0);
  spgemm_terms terms;
  terms.mask = matrix_ref(csr_view<double, std::int32_t>{1, wide, wide, of_mask.data(), in_mask.data(), mask.data()});
  any_spgemm_plan plan(ctx, csr_view<double, std::int32_t>{1, 2, 2, of_a.data(), in_a.data(), a.data()},
                       csr_view<double, std::int32_t>{2, wide, 2, of_b.data(), in_b.data(), b.data()}, {}, terms);
  const matrix_ref c = plan.multiply();
  plan.numeric(c, 2.0);
  const auto* const values = static_cast<const double*>(c.values);
  EXPECT_EQ(std::vector(values, values + c.nnz), (std::vector<double>{6, 16}));
}

}  // namespace
}  // namespace tulle::test
