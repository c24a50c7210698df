// The reference and its bound: exact cases, planted errors, NaN and infinity.
#include <limits>

#include "support/on_battery.hpp"

namespace tulle::test {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// One row with these values, each in a column of its own.
template <scalar T>
plain_csr<T, std::int32_t> one_row(const std::vector<T>& values) {
  const auto n = static_cast<index_t>(values.size());
  return {1, n, {0, n}, range(0, n), values};
}

template <scalar T>
spmv_reference reference_of(const std::vector<T>& row, const std::vector<T>& x, T alpha = 1, T beta = 0, T y0 = 0) {
  return reference_spmv<T>(context::cpu(1), alpha, one_row(row).view(), x, beta, std::vector<T>{y0});
}
template <scalar T>
double ratio_of(const std::vector<T>& row, const std::vector<T>& x, T y, T alpha = 1, T beta = 0, T y0 = 0) {
  return error_ratio<T>(reference_of<T>(row, x, alpha, beta, y0), std::vector<T>{y});
}

TEST(reference_spmv, keeps_what_double_loses) {
  const spmv_reference r = reference_of<double>({1e30, 1, -1e30, 0x1p-60}, {1, 1, 1, 1});
  EXPECT_EQ(r.value[0], 1.0);
  EXPECT_EQ(r.value_low[0], 0x1p-60);
}

TEST(reference_spmv, products_are_exact) {
  const double e = 0x1p-52;
  EXPECT_EQ(reference_of<double>({1 + e, -1}, {1 + e, 1 + 2 * e}).value[0], e * e);  // (1 + e)^2 - (1 + 2 e)
}

TEST(reference_spmv, float_sums_in_double) {
  const spmv_reference r = reference_of<float>({1e8F, 1, -1e8F}, {1, 1, 1}, 2, 3, 0.5F);
  EXPECT_EQ(r.value[0], 3.5);
  EXPECT_TRUE(r.value_low.empty());
}

TEST(reference_spmv, bound_is_gamma_of_the_row) {
  const spmv_reference r = reference_of<double>({3, -4}, {1, 1}, -2, 0.5, -6);
  const double u = 0x1p-53;
  const double gamma = 4 * u / (1 - 4 * u);
  EXPECT_EQ(r.value[0], -1.0);
  EXPECT_DOUBLE_EQ(r.bound[0], gamma * (2 * 7 + 3));
}

TEST(reference_spmv, integers_wrap_and_have_no_bound) {
  const std::vector<std::int32_t> row{std::numeric_limits<std::int32_t>::max(), 2};
  const std::vector<std::int32_t> x{2, 3};
  EXPECT_EQ(ratio_of<std::int32_t>(row, x, 4), 0);  // 2 (2^31 - 1) + 6 = 2^32 + 4
  EXPECT_EQ(ratio_of<std::int32_t>(row, x, 5), inf);
  EXPECT_EQ(ratio_of<std::int32_t>(row, x, -4 + 21, -1, 3, 7), 0);
}

TEST(reference_spmv, is_the_same_for_any_number_of_threads) {
  const context one = context::cpu(1);
  const auto a = generate<double>(one, "gen:rmat:scale=12");
  const std::vector<double> x(static_cast<std::size_t>(a.cols), 1.0 / 3);
  const spmv_reference want = reference_spmv<double>(one, 1, a.view(), x, 0, {});
  for (const int threads : {2, 5}) {
    const spmv_reference got = reference_spmv<double>(context::cpu(threads), 1, a.view(), x, 0, {});
    EXPECT_TRUE(same_bits(got.value, want.value));
    EXPECT_TRUE(same_bits(got.value_low, want.value_low));
    EXPECT_TRUE(same_bits(got.bound, want.bound));
  }
}

TEST(reference_spmv, refuses_vectors_of_other_lengths) {
  const context ctx = context::cpu(1);
  const auto a = one_row<double>({1, 2});
  const std::vector<double> one(1), two(2);
  EXPECT_EQ(status_of([&] { reference_spmv<double>(ctx, 1, a.view(), one, 0, {}); }), status::invalid_dimensions);
  EXPECT_EQ(status_of([&] { reference_spmv<double>(ctx, 1, a.view(), two, 1, {}); }), status::invalid_dimensions);
  EXPECT_EQ(status_of([&] { reference_spmv<double>(ctx, 1, a.view(), two, 1, two); }), status::invalid_dimensions);
  const spmv_reference r = reference_spmv<double>(ctx, 1, a.view(), two, 0, {});
  EXPECT_EQ(status_of([&] { error_ratio<double>(r, two); }), status::invalid_dimensions);
}

/// A plain serial product stays within its bound; one unit too many in one row does not.
template <scalar T>
void expect_planted_error_is_found(const std::string& spec) {
  const context ctx = context::cpu(2);
  const auto a = generate<T>(ctx, spec);
  const std::vector<T> x = to_vector(ctx, generate<T>(ctx, "gen:diagonal:seed=9,n=" + std::to_string(a.cols)).values);
  std::vector<T> y;
  for (index_t r = 0; r < a.rows; ++r) {
    T sum = 0;
    for (auto k = a.rowptr.host()[r]; k < a.rowptr.host()[r + 1]; ++k)
      sum += a.values.host()[k] * x[a.colind.host()[k]];
    y.push_back(sum);
  }
  const spmv_reference reference = reference_spmv<T>(ctx, 1, a.view(), x, 0, {});
  EXPECT_LE(error_ratio<T>(reference, y), 1);
  const std::size_t row = y.size() / 2;
  const T right = y[row];
  y[row] = static_cast<T>(right + std::max<double>(4 * reference.bound[row], std::is_integral_v<T> ? 1 : 0));
  EXPECT_GT(error_ratio<T>(reference, y), 2);
  y[row] = static_cast<T>(right + right);  // an entry counted twice
  EXPECT_GT(error_ratio<T>(reference, y), 2);
}

TEST(error_ratio, finds_a_planted_error) {
  for (const char* spec : {"gen:stencil:n=10", "gen:rmat:scale=9,degree=40", "gen:diagonal"}) {
    SCOPED_TRACE(spec);
    expect_planted_error_is_found<double>(spec);
    expect_planted_error_is_found<float>(spec);
  }
  expect_planted_error_is_found<std::int32_t>("gen:stencil:n=10");
}

TEST(error_ratio, an_empty_row_must_give_exactly_beta_y) {
  EXPECT_EQ(ratio_of<double>({}, {}, 0), 0);
  EXPECT_EQ(ratio_of<double>({}, {}, 1e-300), inf);
  EXPECT_EQ(ratio_of<double>({}, {}, nan), inf);
  EXPECT_EQ(ratio_of<double>({}, {}, 6, 1, 2, 3), 0);
}

TEST(error_ratio, beta_0_ignores_y0) {
  EXPECT_EQ(ratio_of<double>({2}, {3}, 6, 1, 0, nan), 0);
  EXPECT_EQ(ratio_of<float>({2}, {3}, 6, 1, 0, static_cast<float>(inf)), 0);
  EXPECT_EQ(ratio_of<double>({2}, {3}, nan, 1, 0, nan), inf);
}

TEST(error_ratio, nan_and_infinity_propagate) {
  EXPECT_EQ(ratio_of<double>({nan, 1}, {1, 1}, nan), 0);
  EXPECT_EQ(ratio_of<double>({nan, 1}, {1, 1}, 1), inf);
  EXPECT_EQ(ratio_of<double>({nan, 1}, {1, 1}, inf), inf);
  EXPECT_EQ(ratio_of<double>({inf, 1}, {1, 1}, inf), 0);
  EXPECT_EQ(ratio_of<double>({inf, 1}, {1, 1}, -inf), inf);
  EXPECT_EQ(ratio_of<double>({inf, 1}, {1, 1}, nan), inf);
  EXPECT_EQ(ratio_of<double>({inf, 1}, {-2, 1}, -inf), 0);
  EXPECT_EQ(ratio_of<double>({inf, inf}, {1, -1}, nan), 0);
  EXPECT_EQ(ratio_of<double>({inf, inf}, {1, -1}, 0), inf);
  EXPECT_EQ(ratio_of<double>({inf}, {0}, nan), 0);
  EXPECT_EQ(ratio_of<double>({1}, {1}, inf), inf);
  EXPECT_EQ(ratio_of<double>({1}, {1}, nan), inf);
  EXPECT_EQ(ratio_of<double>({1}, {1}, inf, 1, 1, inf), 0);
  EXPECT_EQ(ratio_of<float>({1}, {1}, nan, 1, 1, static_cast<float>(nan)), 0);
}

TEST(error_ratio, a_row_that_may_overflow_has_no_bound) {
  EXPECT_EQ(ratio_of<double>({1e308, 1e308, -1e308}, {1, 1, 1}, 1e308), 0);
  EXPECT_EQ(ratio_of<double>({1e308, 1e308, -1e308}, {1, 1, 1}, inf), 0);
  EXPECT_EQ(ratio_of<float>({1e38F, 3e38F}, {1, 1}, static_cast<float>(inf)), 0);
}

TEST(error_ratio, products_that_underflow_are_allowed_for) {
  const double tiny = std::numeric_limits<double>::denorm_min();
  EXPECT_LE(ratio_of<double>({1e-200, 1e-200}, {1e-124, 1e-124}, 0), 1);
  EXPECT_LE(ratio_of<double>({tiny}, {0.75}, 0), 1);
  EXPECT_GT(ratio_of<double>({tiny}, {0.75}, 100 * tiny), 1);
}

}  // namespace
}  // namespace tulle::test
