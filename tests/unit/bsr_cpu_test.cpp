// `bsr` on a CPU: what a block holds beside the matrix's entries adds nothing, and x ends where it ends.
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <tulle/tulle.hpp>
#include <vector>

namespace tulle::test {
namespace {

/// Small integers, so that sums are exact: 37 rows, about a third of 41 columns, none of them a multiple of `hole`.
template <class T>
csr<T, std::int32_t> matrix_with_holes(index_t hole) {
  constexpr index_t rows = 37, cols = 41;
  std::mt19937 random(5);
  std::vector<std::int32_t> rowptr{0};
  std::vector<index_t> colind;
  std::vector<T> values;
  for (index_t row = 0; row < rows; ++row) {
    for (index_t c = 0; c < cols; ++c) {
      if (c % hole == 0 || random() % 3 != 0) continue;
      colind.push_back(c);
      values.push_back(static_cast<T>(static_cast<int>(random() % 9) - 4));
    }
    rowptr.push_back(static_cast<std::int32_t>(values.size()));
  }
  const context host = context::cpu();
  return {rows, cols, to_buffer(host, rowptr), to_buffer(host, colind), to_buffer(host, values)};
}

template <class T>
std::vector<T> product(const csr<T, std::int32_t>& a, const std::vector<T>& x, const spmv_options& options) {
  const context ctx = context::cpu(1);
  const spmv_plan<T> plan(ctx, a, options);
  buffer<T> y(ctx, static_cast<std::size_t>(a.rows));
  plan.apply(T{1}, to_buffer(ctx, x), T{0}, y);
  return to_vector(ctx, y);
}

template <class T>
void expect_exact_sums() {
  const T not_finite[] = {T{2}, std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity()};
  for (index_t block = 2; block <= 8; ++block) {
    for (const index_t hole : {2, 5, 40}) {  // 40: only the first column and the last, which ends a block alone
      const auto a = matrix_with_holes<T>(hole);
      for (const T in_holes : not_finite) {
        std::vector<T> x(static_cast<std::size_t>(a.cols));
        for (index_t c = 0; c < a.cols; ++c)
          x[static_cast<std::size_t>(c)] = c % hole == 0 ? in_holes : static_cast<T>(c % 7 - 3);
        spmv_options blocks, rows;
        blocks.kernel = "bsr";
        blocks.block = block;
        rows.kernel = "csr.serial";
        EXPECT_EQ(product(a, x, blocks), product(a, x, rows)) << "blocks of " << block << ", holes " << hole;
      }
    }
  }
}

TEST(BsrOnCpu, WhatIsNotStoredAddsNothing) {
  expect_exact_sums<double>();
  expect_exact_sums<float>();
}

}  // namespace
}  // namespace tulle::test
