// Short rows of `csr5`, which lanes store side by side where they are many. Numbers are small integers, so that sums
// are exact in any order.
#include <gtest/gtest.h>

#include <string>
#include <tulle/core/buffer.hpp>
#include <tulle/ops/spmv.hpp>
#include <vector>

#include "support/backends.hpp"
#include "support/plain_csr.hpp"

namespace tulle::test {
namespace {

constexpr index_t cols = 4096;

/// 0 to 4 entries a row, 2 in the mean; now and then rows as long as a warp's part of a tile, nearly a tile, and more
/// than one, and many empty ones.
index_t length_of(index_t row) {
  if (row % 10'007 == 4000) return 3000;
  if (row % 10'007 == 6000) return 1000;
  if (row % 1009 == 500) return 200;
  return row % 100'000 > 98'000 ? 0 : row * 7 % 5;
}

plain_csr<double, std::int32_t> short_rows(index_t rows) {
  plain_csr<double, std::int32_t> a;
  a.cols = cols;
  for (index_t r = 0; r < rows; ++r) {
    std::vector<index_t> columns;
    const index_t n = length_of(r), first = n < 1000 ? r % 3000 : 0;
    for (index_t k = 0; k < n; ++k) columns.push_back(first + k);
    a.add_row(columns);
  }
  for (std::size_t k = 0; k < a.colind.size(); ++k) a.values.push_back(static_cast<double>(1 + k % 5));
  return a;
}

class CudaCsr5Rows : public cuda_test {
 protected:
  void expect_product(index_t rows, bool side_by_side) {
    const auto a = short_rows(rows);
    ASSERT_LT(a.colind.size(), 3 * static_cast<std::size_t>(rows));
    std::vector<double> x(cols), before(static_cast<std::size_t>(rows)), expected(before);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(1 + i % 3);
    for (index_t r = 0; r < rows; ++r) {
      before[r] = r % 7;
      for (std::int32_t k = a.rowptr[r]; k < a.rowptr[r + 1]; ++k) expected[r] += 2 * a.values[k] * x[a.colind[k]];
      expected[r] += 3 * before[r];
    }
    spmv_options options;
    options.kernel = "csr5";
    const auto on_device = a.on(ctx());
    any_spmv_plan plan(ctx(), matrix_ref(on_device.view()), options);
    EXPECT_EQ(plan.parameters().find("rows=side_by_side") != std::string::npos, side_by_side) << plan.parameters();
    const buffer<double> in = to_buffer(ctx(), x);
    buffer<double> y = to_buffer(ctx(), before);
    plan.apply(2, in, 3, y);
    EXPECT_EQ(to_vector(ctx(), y), expected);
  }
};

TEST_F(CudaCsr5Rows, AreStoredSideBySideWhereTheyAreMany) { expect_product(1'300'000, true); }

TEST_F(CudaCsr5Rows, AreStoredOneByOneWhereTheyAreFew) { expect_product(100'000, false); }

}  // namespace
}  // namespace tulle::test
