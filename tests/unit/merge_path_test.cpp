// The split of rows + nonzeros into equal parts, past 2^31 too, on row lengths given by a formula.
#include "cpu/spmv/merge_path.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace tulle::cpu {
namespace {

/// Every split of a path must start at the origin, end at the corner, never go back, and share the work evenly.
template <class RowEnd>
void expect_even_split(index_t rows, std::int64_t nnz, int parts, const RowEnd& row_end) {
  merge_coordinate last;
  EXPECT_EQ(merge_path_split(0, parts, rows, nnz, row_end), last);
  for (int part = 1; part <= parts; ++part) {
    const merge_coordinate next = merge_path_split(part, parts, rows, nnz, row_end);
    const std::int64_t steps = next.row - last.row + next.entry - last.entry;
    EXPECT_GE(next.row, last.row);
    EXPECT_GE(next.entry, last.entry);
    EXPECT_LE(std::abs(steps - (rows + nnz) / parts), parts) << "part " << part;
    if (next.row > 0) {
      EXPECT_LE(row_end(next.row - 1), next.entry) << "a row that has ended has all its entries";
    }
    if (next.row < rows) {
      EXPECT_GE(row_end(next.row), next.entry) << "no entry of a later row is taken";
    }
    last = next;
  }
  EXPECT_EQ(last, (merge_coordinate{rows, nnz}));
}

TEST(merge_path, even_rows_past_2_31) {
  constexpr index_t rows = 2'000'000'000;
  const auto row_end = [](index_t row) { return (std::int64_t{row} + 1) * 17; };
  expect_even_split(rows, row_end(rows - 1), 7, row_end);
}

TEST(merge_path, one_row_past_2_31) {
  constexpr std::int64_t nnz = std::int64_t{5} << 31;
  const auto row_end = [](index_t row) { return row < 3 ? 0 : nnz; };
  expect_even_split(10, nnz, 16, row_end);
}

TEST(merge_path, many_parts_of_little) {
  const std::vector<std::int64_t> ends = {0, 0, 5, 5, 6, 6};
  const auto row_end = [&](index_t row) { return ends[static_cast<std::size_t>(row)]; };
  for (int parts = 1; parts <= 20; ++parts) expect_even_split(6, 6, parts, row_end);
}

TEST(merge_path, nothing) {
  const auto no_row = [](index_t) -> std::int64_t { throw std::logic_error("there is no row"); };
  expect_even_split(0, 0, 4, no_row);
}

TEST(merge_path, search_finds_the_only_crossing) {
  const std::vector<std::int64_t> ends = {2, 2, 7, 8};
  const auto row_end = [&](index_t row) { return ends[static_cast<std::size_t>(row)]; };
  const std::vector<merge_coordinate> path = {{0, 0}, {0, 1}, {0, 2}, {1, 2}, {2, 2}, {2, 3}, {2, 4},
                                              {2, 5}, {2, 6}, {2, 7}, {3, 7}, {3, 8}, {4, 8}};
  for (std::size_t diagonal = 0; diagonal < path.size(); ++diagonal) {
    EXPECT_EQ(merge_path_search(static_cast<std::int64_t>(diagonal), 4, 8, row_end), path[diagonal]) << diagonal;
  }
}

}  // namespace
}  // namespace tulle::cpu
