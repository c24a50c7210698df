// Plans of C = M o (alpha A B) + beta D on the CPU: operands in every state, new values, and errors that name them.
#include <cstdlib>

#include "spgemm_oracle.hpp"

namespace tulle {
namespace {

using namespace test;

template <class Types>
class SpgemmTypes : public ::testing::Test {};
template <class T_, class O_>
struct types {
  using T = T_;
  using O = O_;
};
using all_types = ::testing::Types<types<double, std::int32_t>, types<double, std::int64_t>, types<float, std::int32_t>,
                                   types<float, std::int64_t>>;
TYPED_TEST_SUITE(SpgemmTypes, all_types);

TYPED_TEST(SpgemmTypes, OperandsInEveryOrder) {
  using T = typename TypeParam::T;
  using O = typename TypeParam::O;
  const context ctx = context::cpu(2);
  for (const rows_are order : {rows_are::increasing, rows_are::shuffled, rows_are::repeating}) {
    const auto a = random_sparse<T, O>(23, 31, 4, 1, order), b = random_sparse<T, O>(31, 19, 5, 2, order);
    const exact_matrix exact = exact_product(a, b);
    for (const char* kernel : {"", "gustavson", "kernel0"}) {
      SCOPED_TRACE(std::string(kernel) + ", order " + std::to_string(static_cast<int>(order)));
      spgemm_options options;
      options.kernel = kernel;
      spgemm_plan<T> plan(ctx, a.view(), b.view(), options);
      const any_csr<T> c = plan.multiply();
      expect_product<T>(c, {23, 19}, exact);
      EXPECT_TRUE((std::holds_alternative<csr<T, std::int32_t>>(c))) << "offsets are as narrow as they can be";
      EXPECT_EQ(plan.nnz(), static_cast<std::int64_t>(exact.size()));
      EXPECT_EQ(plan.dimensions(), (shape{23, 19}));
    }
    expect_product<T>(spgemm(ctx, a.owned(ctx), b.owned(ctx)), {23, 19}, exact);
  }
}

TYPED_TEST(SpgemmTypes, Transposes) {
  using T = typename TypeParam::T;
  using O = typename TypeParam::O;
  const context ctx = context::cpu(2);
  for (const rows_are order : {rows_are::increasing, rows_are::repeating}) {
    const auto a = random_sparse<T, O>(23, 31, 4, 1, order), b = random_sparse<T, O>(31, 19, 5, 2, order);
    const auto at = transposed(a), bt = transposed(b);
    const exact_matrix exact = exact_product(a, b);
    for (int which = 1; which < 4; ++which) {
      spgemm_options options;
      options.transpose_a = (which & 1) != 0;
      options.transpose_b = (which & 2) != 0;
      const auto& left = options.transpose_a ? at : a;
      const auto& right = options.transpose_b ? bt : b;
      spgemm_plan<T> plan(ctx, left.view(), right.view(), options);
      expect_product<T>(plan.multiply(), {23, 19}, exact);
    }
    spgemm_options options;
    options.transpose_b = true;
    expect_product<T>(spgemm_plan<T>(ctx, a.view(), a.view(), options).multiply(), {23, 23}, exact_product(a, at));
    options = {};
    options.transpose_a = true;
    expect_product<T>(spgemm_plan<T>(ctx, a.view(), a.view(), options).multiply(), {31, 31}, exact_product(at, a));
  }
}

TYPED_TEST(SpgemmTypes, MaskAlphaAndD) {
  using T = typename TypeParam::T;
  using O = typename TypeParam::O;
  const context ctx = context::cpu(2);
  for (const rows_are order : {rows_are::increasing, rows_are::shuffled, rows_are::repeating}) {
    const auto a = random_sparse<T, O>(23, 31, 4, 1), b = random_sparse<T, O>(31, 19, 5, 2, order);
    const auto mask = random_sparse<T, O>(23, 19, 6, 3, order), d = random_sparse<T, O>(23, 19, 3, 4, order);
    auto pattern = mask.view();
    pattern.values = nullptr;  // are not read
    for (int which = 0; which < 4; ++which) {
      SCOPED_TRACE(which);
      spgemm_terms<T, O> terms;
      if (which & 1) terms.mask = pattern;
      if (which & 2) terms.d = d.view();
      spgemm_plan<T> plan(ctx, a.view(), b.view(), {}, terms);
      for (const T alpha : {T{1}, T{-2.5}, T{0}}) {
        for (const T beta : {T{0}, T{1}, T{0.3f}}) {
          if (beta != 0 && !terms.d) continue;
          const exact_matrix exact =
              exact_product(a, b, alpha, terms.mask ? &mask : nullptr, beta, terms.d ? &d : nullptr);
          any_csr<T> c = plan.multiply(alpha, beta);
          expect_product<T>(c, {23, 19}, exact);
          any_csr<T> again = plan.multiply();
          plan.numeric(again, alpha, beta);
          EXPECT_TRUE(same_bits(c, again)) << "multiply and numeric";
        }
      }
    }
  }
}

class SpgemmPlan : public ::testing::Test {
 protected:
  context ctx = context::cpu(2);
  sparse<double, std::int64_t> a = random_sparse(23, 31, 4, 1), b = random_sparse(31, 19, 5, 2);
};

TEST_F(SpgemmPlan, OneMatrixAsEveryOperand) {
  const auto m = random_sparse(25, 25, 4, 7);
  spgemm_plan<double> plan(ctx, m.view(), m.view(), {}, {.mask = m.view(), .d = m.view()});
  expect_product<double>(plan.multiply(2, -1), {25, 25}, exact_product(m, m, 2.0, &m, -1.0, &m));
  EXPECT_EQ(plan.products(), [&] {
    std::int64_t n = 0;
    for (const index_t c : m.colind) n += m.rowptr[c + 1] - m.rowptr[c];
    return n;
  }());
}

TEST_F(SpgemmPlan, NewValuesInTheSamePatterns) {
  for (const rows_are order : {rows_are::increasing, rows_are::repeating}) {
    for (const bool transposes : {false, true}) {
      for (const bool with_mask : {false, true}) {
        auto l = random_sparse(23, 31, 4, 1, order), r = random_sparse(31, 19, 5, 2, order);
        if (transposes) std::tie(l, r) = std::pair(transposed(l), transposed(r));
        auto d = random_sparse(23, 19, 3, 3, order);
        const auto mask = random_sparse(23, 19, 9, 4, order);
        spgemm_options options;
        options.transpose_a = options.transpose_b = transposes;
        spgemm_terms<double, std::int64_t> terms{.d = d.view()};
        if (with_mask) terms.mask = mask.view();
        spgemm_plan<double> plan(ctx, l.view(), r.view(), options, terms);
        auto c = plan.multiply();

        const auto scaled = [](sparse<double, std::int64_t> m, double by) {
          for (double& v : m.values) v *= by;
          return m;
        };
        const auto expect = [&](const sparse<double, std::int64_t>& x, const sparse<double, std::int64_t>& y,
                                const sparse<double, std::int64_t>& z) {
          const exact_matrix exact = exact_product(transposes ? transposed(x) : x, transposes ? transposed(y) : y, 2.0,
                                                   with_mask ? &mask : nullptr, 3.0, &z);
          plan.numeric(c, 2, 3);
          expect_product<double>(c, {23, 19}, exact);
          expect_product<double>(plan.multiply(2, 3), {23, 19}, exact);
        };
        const auto l2 = scaled(l, 1.25), r2 = scaled(r, -0.4), d2 = scaled(d, 7);
        plan.update_values(l2.values.data(), r2.values.data(), d2.values.data());
        expect(l2, r2, d2);
        plan.update_values(l.values.data(), r2.values.data());  // D stays
        expect(l, r2, d2);
        l.values[0] = 17;  // present values count, without a call
        expect(l, r2, d2);
      }
    }
  }
}

TEST_F(SpgemmPlan, BetaZeroOverwritesNanOfD) {
  auto d = random_sparse(23, 19, 3, 3);
  for (double& v : d.values) v = std::numeric_limits<double>::quiet_NaN();
  spgemm_plan<double> plan(ctx, a.view(), b.view(), {}, {.d = d.view()});
  auto zeros = d;
  zeros.values.assign(d.values.size(), 0);
  expect_product<double>(plan.multiply(1, 0), {23, 19}, exact_product(a, b, 1.0, {}, 1.0, &zeros));
}

TEST_F(SpgemmPlan, EmptyShapes) {
  for (const auto& [rows, inner, cols] : {std::tuple{0, 0, 0}, {0, 5, 3}, {4, 0, 3}, {4, 5, 0}, {1, 1, 1}, {4, 5, 3}}) {
    SCOPED_TRACE(std::to_string(rows) + " " + std::to_string(inner) + " " + std::to_string(cols));
    const auto l = random_sparse(rows, inner, 2, 1), r = random_sparse(inner, cols, 2, 2);
    const auto d = random_sparse(rows, cols, 1, 3), m = random_sparse(rows, cols, 1, 4);
    expect_product<double>(spgemm(ctx, l.owned(ctx), r.owned(ctx)), {rows, cols}, exact_product(l, r));
    spgemm_plan<double> plan(ctx, l.view(), r.view(), {}, {.mask = m.view(), .d = d.view()});
    expect_product<double>(plan.multiply(1, 2), {rows, cols}, exact_product(l, r, 1.0, &m, 2.0, &d));
  }
}

TEST_F(SpgemmPlan, NamesTheOperandThatDoesNotFit) {
  const auto wrong = random_sparse(30, 19, 2, 1);
  auto [code, message] = failure_of([&] { spgemm_plan<double>(ctx, a.view(), wrong.view()); });
  EXPECT_EQ(code, status::invalid_dimensions);
  EXPECT_EQ(message, "A is 23 x 31 and B is 30 x 19: the inner dimensions differ");
  std::tie(code, message) = failure_of([&] { spgemm_plan<double>(ctx, a.view(), b.view(), {.transpose_a = true}); });
  EXPECT_EQ(message, "A^T is 31 x 23 and B is 31 x 19: the inner dimensions differ");
  std::tie(code, message) =
      failure_of([&] { spgemm_plan<double>(ctx, a.view(), b.view(), {}, {.mask = wrong.view()}); });
  EXPECT_EQ(code, status::invalid_dimensions);
  EXPECT_EQ(message, "the mask is 30 x 19, A B is 23 x 19");
  std::tie(code, message) = failure_of([&] { spgemm_plan<double>(ctx, a.view(), b.view(), {}, {.d = wrong.view()}); });
  EXPECT_EQ(message, "D is 30 x 19, A B is 23 x 19");
}

TEST_F(SpgemmPlan, NamesTheBrokenOperandAndItsRow) {
  const auto terms = [](const auto& mask, const auto& d) {
    return spgemm_terms<double, std::int64_t>{.mask = mask.view(), .d = d.view()};
  };
  const auto c = random_sparse(23, 19, 3, 3);
  for (const std::string name : {"A", "B", "the mask", "D"}) {
    auto l = a, r = b, m = c, d = c;
    auto& broken = name == "A" ? l : name == "B" ? r : name == "D" ? d : m;
    broken.colind[static_cast<std::size_t>(broken.rowptr[2])] = broken.cols;
    auto [code, message] = failure_of([&] { spgemm_plan<double>(ctx, l.view(), r.view(), {}, terms(m, d)); });
    EXPECT_EQ(code, status::invalid_structure);
    EXPECT_EQ(message.find(name + ": row 2"), 0u) << message;
    broken.colind[static_cast<std::size_t>(broken.rowptr[2])] = 0;
    broken.rowptr[3] = -1;
    std::tie(code, message) = failure_of([&] { spgemm_plan<double>(ctx, l.view(), r.view(), {}, terms(m, d)); });
    EXPECT_EQ(code, status::invalid_structure);
    EXPECT_EQ(message.find(name + ": row 2"), 0u) << message;
  }
  auto broken = a;
  broken.rowptr[3] = -1;  // comes before what else is wrong
  EXPECT_EQ(failure_of([&] { spgemm_plan<double>(ctx, broken.view(), b.view(), {.kernel = "no_kernel"}); }).first,
            status::invalid_structure);
  EXPECT_EQ(failure_of([&] { spgemm_plan<double>(ctx, a.view(), b.view(), {.kernel = "no_kernel"}); }).first,
            status::invalid_argument);
  auto missing = a.view();
  missing.values = nullptr;
  EXPECT_EQ(failure_of([&] { spgemm_plan<double>(ctx, missing, b.view()); }).first, status::null_pointer);
  missing = a.view();
  missing.nnz = -1;
  EXPECT_EQ(failure_of([&] { spgemm_plan<double>(ctx, missing, b.view()); }).first, status::invalid_dimensions);
  missing = a.view();
  missing.space = memory_space::device;
  EXPECT_EQ(failure_of([&] { spgemm_plan<double>(ctx, missing, b.view()); }).first, status::invalid_argument);
}

TEST_F(SpgemmPlan, RefusesWhatItCannotDo) {
  EXPECT_EQ(failure_of([&] { spgemm_plan<double>(ctx, a.view(), b.view(), {.tile_size = -1}); }).first,
            status::invalid_argument);
  spgemm_plan<double> plan(ctx, a.view(), b.view());
  EXPECT_EQ(failure_of([&] { plan.multiply(1, 2); }).first, status::invalid_argument) << "beta without a D";
  any_csr<double> c = spgemm(ctx, a.owned(ctx), b.owned(ctx));
  EXPECT_EQ(failure_of([&] { plan.numeric(c); }).first, status::invalid_argument) << "no C was made yet";
  plan.multiply();
  any_csr<double> other = spgemm(ctx, a.owned(ctx), random_sparse(31, 19, 4, 9).owned(ctx));
  EXPECT_EQ(failure_of([&] { plan.numeric(other); }).first, status::invalid_dimensions);
  any_csr<double> wide = widen(ctx, plan.multiply());
  EXPECT_EQ(failure_of([&] { plan.numeric(wide); }).second, "C has i64 offsets, that of multiply has i32");
  EXPECT_EQ(failure_of([&] { plan.update_values(nullptr, b.values.data()); }).first, status::null_pointer);
  EXPECT_EQ(failure_of([&] { plan.update_values(a.values.data(), b.values.data(), a.values.data()); }).first,
            status::invalid_argument);
}

/// Before any array is looked at: these are far too short.
TEST_F(SpgemmPlan, RefusesDimensionsThatDoNotFitTogether) {
  constexpr index_t half = 1 << 30;
  const std::vector<std::int64_t> rowptr(1, 0);
  const csr_view<double, std::int64_t> tall{half, half, 0, rowptr.data(), nullptr, nullptr, memory_space::host};
  const spgemm_terms<double, std::int64_t> d{.d = tall}, masked{.mask = tall, .d = tall};
  EXPECT_EQ(failure_of([&] { spgemm_plan<double>(ctx, tall, tall, {}, d); }).first, status::overflow);
  const auto [code, message] = failure_of([&] { spgemm_plan<double>(ctx, tall, tall, {}, masked); });
  EXPECT_EQ(code, status::overflow);
  EXPECT_NE(message.find("1073741824 and 1073741824"), std::string::npos) << message;
}

TEST_F(SpgemmPlan, KernelByNameAndByEnvironment) {
  EXPECT_EQ(spgemm_plan<double>(ctx, a.view(), b.view()).kernel(), "gustavson");
  EXPECT_EQ(spgemm_plan<double>(ctx, a.view(), b.view(), {.kernel = "kernel0"}).kernel(), "kernel0");
  EXPECT_EQ(failure_of([&] { spgemm_plan<double>(ctx, a.view(), b.view(), {.kernel = "nonsense"}); }).first,
            status::invalid_argument);
  ASSERT_EQ(setenv("TULLE_KERNEL", "kernel0", 1), 0);
  const spgemm_plan<double> plan(ctx, a.view(), b.view());
  ASSERT_EQ(setenv("TULLE_KERNEL", "csr.balanced", 1), 0);
  const spgemm_plan<double> other(ctx, a.view(), b.view());
  unsetenv("TULLE_KERNEL");
  EXPECT_EQ(plan.kernel(), "kernel0");
  EXPECT_EQ(plan.explain(), "kernel0: asked for by name");
  EXPECT_EQ(other.kernel(), "gustavson") << "a kernel of y = A x says nothing about C = A B";
}

}  // namespace
}  // namespace tulle
