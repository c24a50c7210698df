// The columns of `csr5`: 2, 3 or 4 bytes by how far the widest tile reaches, at the edges between them, in whole rows
// and in parts of a long one. Numbers are small integers, so that sums are exact in any order.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tulle/core/buffer.hpp>
#include <tulle/ops/spmv.hpp>
#include <vector>

#include "support/backends.hpp"
#include "support/plain_csr.hpp"

namespace tulle::test {
namespace {

template <scalar T>
using host_csr = plain_csr<T, std::int32_t>;

/// Row r reads r to r + 2, but for those in between that are empty, and for one that reads `extra` too. So many entries
/// that columns are counted from the first one of a tile.
template <scalar T>
host_csr<T> near_diagonal(index_t cols, index_t row_of_extra, const std::vector<index_t>& extra,
                          index_t rows = 100'000) {
  host_csr<T> a;
  a.cols = std::max(cols, rows + 2);
  for (index_t r = 0; r < rows; ++r) {
    std::vector<index_t> columns;
    if (r % 97 != 5) columns = {r, r + 1, r + 2};
    if (r == row_of_extra) columns.insert(columns.end(), extra.begin(), extra.end());
    a.add_row(columns);
  }
  for (std::size_t k = 0; k < a.colind.size(); ++k) a.values.push_back(static_cast<T>(1 + k % 5));
  return a;
}

template <scalar T>
std::vector<T> product(const host_csr<T>& a, const std::vector<T>& x) {
  std::vector<T> y(static_cast<std::size_t>(a.rows));
  for (index_t r = 0; r < a.rows; ++r) {
    for (std::int32_t k = a.rowptr[r]; k < a.rowptr[r + 1]; ++k) y[r] += a.values[k] * x[a.colind[k]];
  }
  return y;
}

class CudaCsr5Columns : public cuda_test {
 protected:
  /// By four and by eight entries a thread, with these values and with others.
  template <scalar T>
  void expect_bytes(int bytes, host_csr<T> a) {
    std::vector<T> x(static_cast<std::size_t>(a.cols));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(1 + i % 3);
    const buffer<T> in = to_buffer(ctx(), x);
    buffer<T> y(ctx(), static_cast<std::size_t>(a.rows));
    for (const int block_size : {256, 128}) {
      SCOPED_TRACE(std::to_string(block_size) + " threads a block, " + std::to_string(sizeof(T)) + " bytes a value");
      spmv_options options;
      options.kernel = "csr5";
      options.block_size = block_size;
      const auto on_device = a.on(ctx());
      any_spmv_plan plan(ctx(), matrix_ref(on_device.view()), options);
      EXPECT_NE(plan.parameters().find("column_bytes=" + std::to_string(bytes)), std::string::npos)
          << plan.parameters();
      plan.apply(1, in, 0, y);
      EXPECT_EQ(to_vector(ctx(), y), product(a, x));
      for (T& v : a.values) v = 7 - v;
      plan.update_values(to_buffer(ctx(), a.values));
      plan.apply(1, in, 0, y);
      EXPECT_EQ(to_vector(ctx(), y), product(a, x));
    }
  }
  void expect_bytes(int bytes, index_t cols, index_t row_of_extra, const std::vector<index_t>& extra) {
    expect_bytes(bytes, near_diagonal<double>(cols, row_of_extra, extra));
    expect_bytes(bytes, near_diagonal<float>(cols, row_of_extra, extra));
  }
};

TEST_F(CudaCsr5Columns, TakeTwoBytesWhereTilesReadNearColumns) { expect_bytes(2, 0, 0, {}); }

// The first tile reads from column 0 on, so that it reaches over so many columns as its last one says.
TEST_F(CudaCsr5Columns, TakeThreeBytesFromTheFirstColumnThatTwoDoNotHold) {
  expect_bytes(2, 0, 10, {65'534});
  expect_bytes(3, 0, 10, {65'535});
}

TEST_F(CudaCsr5Columns, TakeFourBytesFromTheFirstColumnThatThreeDoNotHold) {
  constexpr index_t most = 16'777'215;
  expect_bytes(3, most + 10, 10, {most - 1});
  expect_bytes(4, most + 10, 10, {most});
}

// One tile of a row of its own reads 1024 columns; the widest of all counts.
TEST_F(CudaCsr5Columns, OfPartsOfALongRowAreCountedFromEachPart) {
  std::vector<index_t> near, far;
  for (index_t i = 0; i < 3000; ++i) {
    near.push_back(50'010 + 7 * i);
    far.push_back(50'010 + 100 * i);
  }
  expect_bytes(2, 80'000, 50'000, near);
  expect_bytes(3, 400'000, 50'000, far);
}

// 600,000 entries are 19 windows, all of which are looked at.
TEST_F(CudaCsr5Columns, ArePredictedFromWhatAPlanLooksAt) {
  const auto reach = [&](const std::vector<index_t>& extra) {
    const auto a = near_diagonal<double>(0, 10, extra, 200'000).on(ctx());
    return any_spmv_plan(ctx(), matrix_ref(a.view())).stats().tile_columns;
  };
  const index_t near = reach({});  // 1024 entries are of 342 or 343 rows, or a few more with empty ones between
  EXPECT_GE(near, 344);
  EXPECT_LE(near, 352);
  EXPECT_EQ(reach({150'000}), 150'001);
}

}  // namespace
}  // namespace tulle::test
