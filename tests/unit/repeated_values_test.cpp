// `packed` on CUDA where values and columns repeat from row to row, as on a mesh with constant coefficients, where they
// stop to repeat and where they begin to. Numbers are small integers, so sums are exact in any order.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <tulle/tulle.hpp>
#include <vector>

#include "support/backends.hpp"
#include "support/battery.hpp"
#include "support/spmv.hpp"

namespace tulle::test {
namespace {

/// Integers from 0 to `count` - 1, by chance.
std::vector<double> integers(std::size_t size, int count, std::uint64_t seed) {
  std::vector<double> all = random_numbers(size, seed);
  for (double& v : all) v = std::floor((v + 1) / 2 * count);
  return all;
}

using make_values = std::vector<double> (*)(const plain_csr<>&);

/// By how far a column is from the diagonal.
template <int Scale>
std::vector<double> coefficients(const plain_csr<>& m) {
  std::vector<double> all;
  for (index_t row = 0; row < m.rows; ++row) {
    const auto end = m.rowptr[static_cast<std::size_t>(row) + 1];
    for (auto k = m.rowptr[static_cast<std::size_t>(row)]; k < end; ++k) {
      const index_t away = std::abs(m.colind[static_cast<std::size_t>(k)] - row);
      all.push_back(Scale * (away == 0 ? 7 : away == 1 ? -2 : 1));
    }
  }
  return all;
}

struct kind {
  const char* name;
  make_values make;
  bool repeat = false;
};
const kind kinds[] = {
    {"coefficients", coefficients<1>, true},
    {"five values", [](const plain_csr<>& m) { return integers(m.colind.size(), 5, 2); }},
    {"other coefficients", coefficients<3>, true},
    {"one value", [](const plain_csr<>& m) { return std::vector<double>(m.colind.size(), 5.0); }, true},
    {"many floats", [](const plain_csr<>& m) { return integers(m.colind.size(), 5000, 3); }},
    {"coefficients again", coefficients<1>, true},
};

struct pattern : plain_csr<> {
  bool alike;  // most rows are
};

/// Slices of 64 lanes and of 32; of several lines of a mesh; of rows that are cut; and neither rows nor columns alike.
std::vector<pattern> patterns() {
  const auto of_long_rows = [](index_t row) { return row % 100 == 0 ? range(0, 2500) : range(row, row + 9); };
  return {{banded("", 600000, 1), true},
          {banded("", 40000, 3), true},
          {stencil27(40), false},
          {matrix_of("", 400, 2500, of_long_rows), false},
          {random_csr(20000, 20000, 9, 5, rows_are::shuffled), false}};
}

template <scalar V>
std::vector<V> as(const std::vector<double>& v) {
  return {v.begin(), v.end()};
}

/// What the passes of a plan give is held to what they are.
template <scalar V>
class passes {
 public:
  passes(const context& ctx, const plain_csr<>& m)
      : ctx_(ctx),
        rows_(static_cast<std::size_t>(m.rows)),
        cols_(static_cast<std::size_t>(m.cols)),
        x_(integers(cols_ * vectors, 4, 11)),
        w_(integers(rows_, 3, 12)),
        d_(integers(rows_, 3, 13)) {}

  void check(const any_spmv_plan& plan, const plain_csr<>& m) const {
    const buffer<V> x = first_vector(), w = there(w_);
    buffer<V> y(ctx_, rows_);
    const std::vector<double> sums = product(m, 0, 1);
    plan.apply(1, x, 0, y);
    expect(y, sums, "apply");
    plan.apply(2, x, -1, y);
    expect(y, sums, "apply with beta");
    check_dots(plan, x, w, sums);
    if (rows_ == cols_) {
      plan.jacobi(0.5, x, w, there(d_), y);
      std::vector<double> expected(rows_);
      for (std::size_t r = 0; r < rows_; ++r) expected[r] = x_[r] + 0.5 * d_[r] * (w_[r] - sums[r]);
      expect(y, expected, "jacobi");
    }
    check_many(plan, m);
  }
  void check_apply(const any_spmv_plan& plan, const plain_csr<>& m) const {
    buffer<V> y(ctx_, rows_);
    plan.apply(1, first_vector(), 0, y);
    expect(y, product(m, 0, 1), "apply");
  }

 private:
  static constexpr int vectors = 9;
  [[nodiscard]] buffer<V> there(const std::vector<double>& v) const { return to_buffer(ctx_, as<V>(v)); }
  [[nodiscard]] buffer<V> first_vector() const {
    return there({x_.begin(), x_.begin() + static_cast<std::ptrdiff_t>(cols_)});
  }
  void expect(const buffer<V>& y, const std::vector<double>& expected, const char* what) const {
    EXPECT_TRUE(same_numbers(to_vector(ctx_, y), as<V>(expected))) << what;
  }
  /// With x at x_[offset + column * stride].
  [[nodiscard]] std::vector<double> product(const plain_csr<>& m, std::size_t offset, std::size_t stride) const {
    std::vector<double> sums(rows_);
    for (std::size_t row = 0; row < rows_; ++row) {
      for (auto k = m.rowptr[row]; k < m.rowptr[row + 1]; ++k) {
        const auto i = static_cast<std::size_t>(k);
        sums[row] += m.values[i] * x_[offset + static_cast<std::size_t>(m.colind[i]) * stride];
      }
    }
    return sums;
  }
  void check_dots(const any_spmv_plan& plan, const buffer<V>& x, const buffer<V>& w,
                  const std::vector<double>& sums) const {
    buffer<V> y(ctx_, rows_);
    buffer<double> dots(ctx_, 2);
    plan.apply_dots(1, x, 0, y, w, dots);
    expect(y, sums, "apply with dot products");
    std::vector<double> expected(2);
    for (std::size_t r = 0; r < rows_; ++r) expected[0] += w_[r] * sums[r], expected[1] += sums[r] * sums[r];
    EXPECT_EQ(to_vector(ctx_, dots), expected);
  }
  void check_many(const any_spmv_plan& plan, const plain_csr<>& m) const {
    const buffer<V> x = there(x_);
    buffer<V> y(ctx_, rows_ * vectors);
    for (const auto order : {vector_order::row_major, vector_order::column_major}) {
      const bool by_row = order == vector_order::row_major;
      const auto rows = static_cast<index_t>(rows_), cols = static_cast<index_t>(cols_);
      const auto count = static_cast<index_t>(vectors);
      plan.apply_many(1, multivector_view<const V>{cols, count, by_row ? count : cols, order, x.data(), ctx_.space()},
                      0, multivector_view<V>{rows, count, by_row ? count : rows, order, y.data(), ctx_.space()});
      std::vector<double> expected(rows_ * vectors);
      for (std::size_t j = 0; j < vectors; ++j) {
        const std::vector<double> sums = by_row ? product(m, j, vectors) : product(m, j * cols_, 1);
        for (std::size_t r = 0; r < rows_; ++r) expected[by_row ? r * vectors + j : j * rows_ + r] = sums[r];
      }
      expect(y, expected, by_row ? "row-major" : "column-major");
    }
  }

  context ctx_;
  std::size_t rows_, cols_;
  std::vector<double> x_, w_, d_;
};

using RepeatedValues = on_backend;

/// `alike`: whether rows of the pattern are.
void expect_storage(const any_spmv_plan& plan, const kind& k, bool alike) {
  const bool repeated = plan.stored().shares[0].storage == "repeated";
  EXPECT_EQ(plan.parameters().find("values=repeated") != std::string::npos, repeated);
  if (alike && k.repeat) {
    EXPECT_TRUE(repeated);
  }
  if (!k.repeat) {
    EXPECT_FALSE(repeated);
  }
  if (repeated) {
    EXPECT_LT(2 * plan.stored().shares[0].bytes, plan.stored().shares[0].entries);
  }
}

template <scalar T, scalar V>
void expect_exact_results(const context& ctx) {
  for (const pattern& p : patterns()) {
    plain_csr<> m = p;
    const passes<V> all(ctx, m);
    std::optional<any_spmv_plan> kept;
    std::vector<csr<T>> values;
    values.reserve(std::size(kinds));
    for (const kind& k : kinds) {
      SCOPED_TRACE(std::to_string(p.rows) + " rows, " + k.name);
      m.values = k.make(m);
      values.push_back(typed<T>(m).on(ctx));
      const spmv_options options{.kernel = "packed", .vector_type = scalar_type_of<V>};
      const any_spmv_plan fresh(ctx, values.back(), options);
      expect_storage(fresh, k, p.alike);
      all.check(fresh, m);
      if (!kept) {
        kept.emplace(ctx, values.back(), options);
        continue;
      }
      kept->update_values(values.back().values);
      all.check_apply(*kept, m);
    }
  }
}

TEST_P(RepeatedValues, GiveExactResultsInF64) { expect_exact_results<double, double>(ctx()); }
TEST_P(RepeatedValues, GiveExactResultsInF32) { expect_exact_results<float, float>(ctx()); }
TEST_P(RepeatedValues, GiveExactResultsInF32UnderF64) { expect_exact_results<float, double>(ctx()); }

/// Once new values repeat again they are stored once again.
TEST_P(RepeatedValues, NewOnesMayStopToRepeat) {
  plain_csr<> m = banded("", 40000, 3);
  std::vector<std::string> storages;
  std::vector<csr<double>> values;
  values.reserve(std::size(kinds));
  std::optional<any_spmv_plan> plan;
  for (const kind& k : kinds) {
    SCOPED_TRACE(k.name);
    m.values = k.make(m);
    values.push_back(m.on(ctx()));
    if (plan)
      plan->update_values(values.back().values);
    else
      plan.emplace(ctx(), values.back(), spmv_options{.kernel = "packed"});
    expect_storage(*plan, k, true);
  }
}

TULLE_ON_BACKENDS(RepeatedValues, "cuda");

}  // namespace
}  // namespace tulle::test
