// Values in fewer bits than they have: halves with a scale, which form a row gets, and plans that store slices in forms
// of their own, within their bounds in every pass.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <tulle/tulle.hpp>
#include <vector>

#include "kernels/row_forms.hpp"
#include "support/backends.hpp"
#include "support/battery.hpp"
#include "support/errors.hpp"
#include "support/spmv.hpp"

namespace tulle::test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(Halves, ComeBackFromFloats) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float v = from_f16(half);
    if (v != v) {
      EXPECT_NE(from_f16(to_f16(v)), from_f16(to_f16(v)));
    } else {
      EXPECT_EQ(to_f16(v), half);
    }
  }
}

TEST(Halves, AreTheNearest) {
  for (const double v : random_numbers(20'000, 5)) {
    for (const double scaled : {v, v * 60000, v * 1e-4, v * 1e-7, v * 3e-8}) {
      const std::uint16_t half = to_f16(scaled);
      const double distance = std::abs(from_f16(half) - scaled);
      for (const int step : {-1, 1}) {
        const auto other = static_cast<std::uint16_t>(half + step);
        if ((other & 0x8000) != (half & 0x8000)) continue;
        EXPECT_LE(distance, std::abs(from_f16(other) - scaled)) << scaled;
      }
    }
  }
  EXPECT_EQ(from_f16(to_f16(65519.0)), 65504.0f);
  EXPECT_EQ(from_f16(to_f16(-65520.0)), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(to_f16(1 + 0x1p-11), to_f16(1.0));  // ties to even
  EXPECT_EQ(from_f16(to_f16(1 + 3 * 0x1p-11)), 1 + 0x1p-9f);
  EXPECT_EQ(to_f16(-0.0), 0x8000);
}

/// With the form of its own size a number loses 2^-12 of itself, and so do those 2^21 times as small.
TEST(Halves, OfARowKeepTheirBits) {
  for (int exponent = -130; exponent < 130; ++exponent) {
    const double largest = std::ldexp(1.999, exponent);
    const row_form form = f16_form_for(largest);
    if (form == whole_form) {
      EXPECT_GE(exponent, 127);
      continue;
    }
    for (const int smaller : {0, 5, 21}) {
      const double v = std::ldexp(1.2345678, exponent - smaller);
      if (exponent - smaller < -134) continue;  // subnormal by the least scale
      const double stored = from_f16(to_f16(v, form)) * f16_scale(form);
      EXPECT_LE(std::abs(stored - v), 0x1p-12 * v) << exponent << " " << smaller;
    }
    EXPECT_EQ(from_f16(to_f16(infinity, form)) * f16_scale(form), std::numeric_limits<float>::infinity());
  }
}

/// What decides is what is stored.
TEST(RowForms, LoseWhatTheyAreSaidTo) {
  for (const double v : random_numbers(20'000, 6)) {
    for (const double a : {v, v * 1e-7, v * 1e-9, v * 1e-20, 0.0, 5e-324, v * 1e-310}) {
      EXPECT_EQ(lost_in_f32(a), std::abs(a - static_cast<double>(static_cast<float>(a))));
      for (const double largest : {1.0, 1e-20, 60000.0}) {
        if (std::abs(a) > largest) continue;
        const row_form form = f16_form_for(largest);
        const double stored = from_f16(to_f16(a, form)) * f16_scale(form);
        EXPECT_EQ(lost_in_f16(a, f16_scale(form)), std::abs(a - stored)) << a << " of " << largest;
      }
    }
  }
}

TEST(RowForms, OfSlicesTakeAllTheirRows) {
  EXPECT_EQ(joined(f32_form, f32_form), f32_form);
  EXPECT_EQ(joined(any_form, 7), 7);
  EXPECT_EQ(joined(7, any_form), 7);
  EXPECT_EQ(joined(7, 8), f32_form);
  EXPECT_EQ(joined(f32_form, 8), f32_form);
  EXPECT_EQ(joined(8, whole_form), whole_form);
  EXPECT_EQ(joined(whole_form, any_form), whole_form);
}

row_form form_of(const std::vector<double>& row, const spmv_options& options, bool halves = true) {
  plain_csr<> m{1, static_cast<index_t>(row.size()), {0}, {}, row};
  m.rows = 0;
  m.add_row(range(0, m.cols));
  const csr_view<double, std::int64_t> a = m.view();
  const context host = context::cpu(1);
  return choose_row_forms(host, 1, a, selection_for(1, a, options), halves).of_row.data()[0];
}
spmv_options promising(double tolerance, error_bound bound) {
  spmv_options options;
  options.values = {tolerance, bound};
  return options;
}
spmv_options by_size(magnitude_rule rule) {
  spmv_options options;
  options.value_rule = rule;
  return options;
}

TEST(RowForms, KeepPromises) {
  using enum error_bound;
  const auto form = [](const std::vector<double>& row, double tolerance, error_bound bound) {
    return storage_of(form_of(row, promising(tolerance, bound)));
  };
  constexpr auto whole = value_storage::whole, f32 = value_storage::f32, f16 = value_storage::f16;
  EXPECT_EQ(form({1.0 / 3, 2.0 / 3}, 1e-9, componentwise), whole);
  EXPECT_EQ(form({1.0 / 3, 2.0 / 3}, 1e-7, componentwise), f32);
  EXPECT_EQ(form({1.0 / 3, 2.0 / 3}, 3e-4, componentwise), f16);
  EXPECT_EQ(form({1.0 / 3, 1e-12}, 3e-4, componentwise), f32);
  EXPECT_EQ(form({1.0 / 3, 1e-12}, 3e-4, row), f16);
  EXPECT_EQ(form({1e300, 1.0}, 0.5, componentwise), whole);
  EXPECT_EQ(form({1e-60, 1.0}, 0.5, componentwise), whole);
  EXPECT_EQ(form({1e-60, 1.0 / 3}, 1e-7, row), f32);
  EXPECT_EQ(form({0.0, -0.0}, 0, componentwise), f16);
  EXPECT_EQ(form({0.1f, 0.2f}, 0, componentwise), f32);
  EXPECT_EQ(form({0.1, 0.2}, 0, componentwise), whole);
  EXPECT_EQ(form({infinity, std::nan(""), 0.1}, 1e-7, row), f32);
  EXPECT_EQ(form({1e308, 1e308, 1e308}, 0.5, row), whole);  // the sum is not finite
}

TEST(RowForms, FollowRulesOfSize) {
  const auto narrow = [](const std::vector<double>& row, magnitude_rule rule) {
    return form_of(row, by_size(rule)) == f32_form;
  };
  EXPECT_TRUE(narrow({0.1, -0.2, 0.3}, {.below = 0.31}));
  EXPECT_FALSE(narrow({0.1, -0.2, 0.3}, {.below = 0.3}));
  EXPECT_TRUE(narrow({0.1, -0.2, 0.3}, {.below = 0.3, .percent = 66}));
  EXPECT_FALSE(narrow({0.1, -0.2, 0.3}, {.below = 0.3, .percent = 67}));
  EXPECT_FALSE(narrow({0.1, 0.2, 1e39}, {.below = 0.3, .percent = 50}));
  EXPECT_FALSE(narrow({0.1, 0.2, infinity}, {.below = 0.3, .percent = 50}));
  EXPECT_TRUE(narrow({0.1, 0.2, std::nan("")}, {.below = 0.3, .percent = 50}));
  EXPECT_FALSE(narrow({0.1, 1e300}, {.below = 1e301}));
  EXPECT_TRUE(narrow({1, 1, 1, 5}, {.shrink = 1, .percent = 75}));  // the mean is 2
  EXPECT_FALSE(narrow({1, 1, 1, 5}, {.shrink = 0.5, .percent = 75}));
  EXPECT_FALSE(narrow({1e308, 1e308, 1e3, 1}, {.shrink = 1}));
}

using ValueForms = on_backend;

/// Rows that ask for all forms: in blocks of 500, and some one by one. As many as a thread of a CPU narrows values for.
csr<double> graded(const context& ctx) {
  plain_csr<> m = stencil27(19);
  const std::vector<double> random = random_numbers(m.values.size(), 11);
  for (index_t row = 0; row < m.rows; ++row) {
    const int kind = row < 5000 ? row / 500 % 4 : row % 3;
    for (auto k = m.rowptr[static_cast<std::size_t>(row)]; k < m.rowptr[static_cast<std::size_t>(row) + 1]; ++k) {
      const double v = random[static_cast<std::size_t>(k)];
      const double of_kind[] = {v, v * 0x1p-40, v * 1e-20, v * std::pow(2.0, -static_cast<double>(k % 37))};
      m.values[static_cast<std::size_t>(k)] = of_kind[kind];
    }
  }
  return m.on(ctx);
}

struct bounded_passes {
  context ctx;
  value_tolerance promise = {};
  csr<double> a = graded(context::cpu(1));
  std::vector<double> x = random_numbers(static_cast<std::size_t>(a.cols), 1);
  std::vector<double> w = random_numbers(static_cast<std::size_t>(a.rows), 2);
  spmv_reference exact = reference_spmv<double>(context::cpu(2), 1, a.view(), x, 0, {});

  void expect_product(const std::vector<double>& y) const {
    spmv_reference reference = exact;
    add_promise(reference, 1, a.view(), host_span<const double>(x), promise);
    EXPECT_LE(error_ratio<double>(reference, y), 1);
  }
  void expect_right(const any_spmv_plan& plan) const {
    buffer<double> from = to_buffer(ctx, x), y(ctx, w.size()), of_w = to_buffer(ctx, w), dots(ctx, 2);
    plan.apply(1, from, 0, y);
    const std::vector<double> plain = to_vector(ctx, y);
    expect_product(plain);
    plan.apply_dots(1, from, 0, y, of_w, dots);
    expect_product(to_vector(ctx, y));
    plan.jacobi(1, from, of_w, of_w, y);  // x + w (w - A x)
    std::vector<double> sweep = to_vector(ctx, y);
    for (std::size_t i = 0; i < sweep.size(); ++i) {
      EXPECT_NEAR(sweep[i], x[i] + w[i] * (w[i] - plain[i]), 1e-12) << i;  // the sums are those of apply
    }
    std::vector<double> many = x;
    for (const double v : x) many.push_back(2 * v);
    buffer<double> from_many = to_buffer(ctx, many), to_many(ctx, 2 * w.size());
    const auto n = static_cast<index_t>(w.size());
    plan.apply_many(1,
                    multivector_view<const double>{n, 2, n, vector_order::column_major, from_many.data(), ctx.space()},
                    0, multivector_view<double>{n, 2, n, vector_order::column_major, to_many.data(), ctx.space()});
    std::vector<double> both = to_vector(ctx, to_many), second = both;
    both.resize(w.size());
    second.erase(second.begin(), second.begin() + n);
    for (double& v : second) v /= 2;
    expect_product(both);
    expect_product(second);
  }
};

std::int64_t entries_of(const stored_values& stored, std::string_view storage) {
  for (const stored_share& s : stored.shares) {
    if (s.storage == storage) return s.entries;
  }
  return 0;
}

TEST_P(ValueForms, OfSlicesKeepPromisesInEveryPass) {
  const csr<double> a = graded(ctx());
  bounded_passes passes{ctx()};
  for (const error_bound bound : {error_bound::componentwise, error_bound::row, error_bound::norm}) {
    for (const double tolerance : {1e-11, 1e-7, 1e-3}) {
      SCOPED_TRACE(std::string(name(bound)) + " " + std::to_string(tolerance));
      spmv_options options = promising(tolerance, bound);
      options.kernel = "packed";
      any_spmv_plan plan(ctx(), a, options);
      SCOPED_TRACE(plan.explain());
      passes.promise = options.values;
      passes.expect_right(plan);
      const stored_values stored = plan.stored();
      std::int64_t bytes = 0;
      for (const stored_share& s : stored.shares) bytes += s.bytes;
      EXPECT_LE(bytes, static_cast<std::int64_t>(plan.matrix_bytes()));
      EXPECT_EQ(entries_of(stored, "f64") + entries_of(stored, "f32") + entries_of(stored, "f16"), a.nnz());
      if (bound == error_bound::componentwise) {
        EXPECT_LE(stored.lost, tolerance);
      }
      if (tolerance == 1e-7) {
        EXPECT_GT(entries_of(stored, "f32"), a.nnz() / 3);
      }
      if (tolerance == 1e-3) {
        EXPECT_GT(entries_of(stored, "f16"), a.nnz() / 3);
      }
      EXPECT_EQ(plan.explain().find("gamma(n_i + 2)") != std::string::npos, stored.lost > 0);
      plan.update_values(a.values);  // decides, and lays slices out, once more
      passes.expect_right(plan);
    }
  }
}

TEST_P(ValueForms, WhereNothingQualifiesAllStaysAsItWas) {
  const csr<double> a = graded(ctx());
  spmv_options options = promising(1e-14, error_bound::componentwise);
  options.kernel = "packed";
  const any_spmv_plan plan(ctx(), a, options), plain(ctx(), a, with_kernel("packed"));
  EXPECT_EQ(plan.matrix_bytes(), plain.matrix_bytes());
  EXPECT_EQ(plan.stored().shares.size(), 1u);
  EXPECT_EQ(plan.stored().shares[0].storage, "f64");
  EXPECT_EQ(plan.stored().shares[0].bytes, 8 * a.nnz());
}

/// As the study of the origin had it: what is lost is told, and holds.
TEST_P(ValueForms, BySizeSayWhatIsLost) {
  const csr<double> a = graded(ctx());
  bounded_passes passes{ctx()};
  for (const char* kernel : {"packed", "csr.split_entries", "csr.split_rows", "csr.dual_rows", "csr.composite_rows",
                             "packed.split_entries", "packed.split_rows"}) {
    SCOPED_TRACE(kernel);
    spmv_options options = by_size({.shrink = 0.1});
    options.kernel = kernel;
    const any_spmv_plan plan(ctx(), a, options);
    const stored_values stored = plan.stored();
    EXPECT_GT(entries_of(stored, "f32"), a.nnz() / 4);
    EXPECT_GT(entries_of(stored, "f64"), a.nnz() / 4);
    EXPECT_GT(stored.lost, 0);
    EXPECT_LE(stored.lost, 0x1p-24);
    EXPECT_NE(plan.explain().find("gamma(n_i + 2)"), std::string::npos);
    passes.promise = {stored.lost, error_bound::componentwise};
    buffer<double> x = to_buffer(ctx(), passes.x), y(ctx(), passes.w.size());
    plan.apply(1, x, 0, y);
    passes.expect_product(to_vector(ctx(), y));
  }
}

/// Rows of 8 entries at and beyond the ends of what f32, f16 and f64 hold, not finite, and such as cancel.
csr<double> adversarial(const context& ctx) {
  const index_t rows = 20'000;
  plain_csr<> m{0, rows};
  const std::vector<double> random = random_numbers(8 * static_cast<std::size_t>(rows), 12);
  for (index_t row = 0; row < rows; ++row) {
    columns of_row;
    for (index_t j = 0; j < 8; ++j) of_row.push_back((row + j * 37) % rows);
    std::sort(of_row.begin(), of_row.end());
    m.add_row(of_row);
    const int kind = row < 8192 ? row / 64 % 10 : row % 10;
    for (std::size_t j = 0; j < 8; ++j) {
      const double v = random[8 * static_cast<std::size_t>(row) + j];
      const double of_kind[] = {v * 1e300,
                                v * 1e-300,
                                v * 1e-310,  // subnormal
                                v * 1e-40,   // subnormal as a float
                                j == 3 ? infinity : v,
                                j == 5 ? std::nan("") : v,
                                j % 2 == 0 ? 1e8 + v : -1e8 - v * 0.9,
                                (v < 0 ? -1 : 1) * (3.4028234663852886e38 + (v - 0.5) * 1e31),
                                v * std::pow(2.0, -6.0 * static_cast<double>(j)),
                                j == 0 ? 0.0 : v * 65504};
      m.values.push_back(of_kind[kind]);
    }
  }
  return m.on(ctx);
}

TEST_P(ValueForms, OfRowsMadeToBreakThem) {
  const csr<double> a = adversarial(ctx()), on_host = adversarial(context::cpu(1));
  std::vector<double> x;  // of 1 and -1: no product is rounded, so none is below what bounds tell
  for (const double v : random_numbers(static_cast<std::size_t>(a.cols), 4)) x.push_back(v < 0.3 ? 1 : -1);
  const spmv_reference exact = reference_spmv<double>(context::cpu(2), 1, on_host.view(), x, 0, {});
  const buffer<double> from = to_buffer(ctx(), x);
  for (spmv_options options : {promising(1e-7, error_bound::componentwise), promising(1e-3, error_bound::componentwise),
                               promising(1e-6, error_bound::row), promising(1e-300, error_bound::norm),
                               by_size({.below = 1, .percent = 60}), by_size({.below = 1e39})}) {
    for (const char* kernel : {"packed", "csr.split_entries", "csr.split_rows", "csr.dual_rows", "csr.composite_rows",
                               "packed.split_entries", "packed.split_rows"}) {
      options.kernel = kernel;
      const any_spmv_plan plan(ctx(), a, options);
      SCOPED_TRACE(plan.explain());
      buffer<double> y(ctx(), static_cast<std::size_t>(a.rows));
      plan.apply(1, from, 0, y);
      const stored_values stored = plan.stored();
      EXPECT_GT(entries_of(stored, "f64"), 0);
      EXPECT_GT(entries_of(stored, "f32") + entries_of(stored, "f16"), 0);
      const bool sized = options.value_rule.has_value();
      spmv_reference reference = exact;
      add_promise(reference, 1, on_host.view(), host_span<const double>(x),
                  sized ? value_tolerance{stored.lost, error_bound::componentwise} : options.values);
      EXPECT_LE(error_ratio<double>(reference, to_vector(ctx(), y)), 1);
    }
  }
}

/// Where every value is a float, the forms give the bits that f64 gives in the same order of summation.
TEST_P(ValueForms, OfFloatsLoseNothing) {
  plain_csr<> m = stencil27(12);
  for (double& v : m.values) v = static_cast<float>(v);
  const csr<double> a = m.on(ctx());
  spmv_options rows = with_kernel(ctx().backend() == backend_kind::cpu ? "csr.rows" : "csr.warp");
  const buffer<double> x = to_buffer(ctx(), random_numbers(static_cast<std::size_t>(m.cols), 3));
  const auto product = [&](const spmv_options& options) {
    buffer<double> y(ctx(), static_cast<std::size_t>(m.rows));
    const any_spmv_plan plan(ctx(), a, options);
    plan.apply(1, x, 0, y);
    return to_vector(ctx(), y);
  };
  const std::vector<double> plain = product(rows);
  for (const char* kernel : {"csr.split_rows", "csr.dual_rows", "csr.composite_rows", "csr.split_entries"}) {
    EXPECT_TRUE(same_bits(product(with_kernel(kernel)), plain)) << kernel;
  }
}

TEST_P(ValueForms, OptionsAreChecked) {
  const csr<double> a = small_csr(ctx());
  const auto refused = [&](std::string_view what, const spmv_options& options) {
    expect_error(status::invalid_argument, what, [&] { any_spmv_plan(ctx(), a, options); });
  };
  refused("value_rule.below = 0 and value_rule.shrink = 0", by_size({}));
  refused("one must be 0", by_size({.below = 1, .shrink = 1}));
  refused("one must be 0", by_size({.below = -1}));
  refused("one must be 0", by_size({.shrink = infinity}));
  refused("one must be 0", by_size({.below = std::nan("")}));
  refused("value_rule.percent = 0", by_size({.below = 1, .percent = 0}));
  refused("value_rule.percent = 101", by_size({.below = 1, .percent = 101}));
  refused("value_rule.percent = nan", by_size({.below = 1, .percent = std::nan("")}));
  spmv_options both = by_size({.below = 1});
  both.values.tolerance = 1e-6;
  refused("only one of them", both);
  refused("values.tolerance = 1", promising(1, error_bound::row));
  refused("values.tolerance = -1", promising(-1, error_bound::row));
}

TULLE_ON_BACKENDS(ValueForms, "cpu1", "cuda");

}  // namespace
}  // namespace tulle::test
