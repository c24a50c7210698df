// Where a diagonal of the merge of row ends and nonzeros is crossed (Merrill, Garland: Merge-based Parallel Sparse
// Matrix-Vector Multiplication, SC16, algorithm 1).
#pragma once

#include <algorithm>
#include <cstdint>
#include <tulle/core/types.hpp>

#include "core/partition_point.hpp"

namespace tulle::cpu {

/// `row` rows have ended and `entry` nonzeros have been taken.
struct merge_coordinate {
  index_t row = 0;
  std::int64_t entry = 0;
  friend bool operator==(const merge_coordinate&, const merge_coordinate&) = default;
};

/// The point of the merge path with row + entry = diagonal, 0 <= diagonal <= rows + nnz. `row_end(r)` is
/// rowptr[r + 1], the end of row r.
template <class RowEnd>
merge_coordinate merge_path_search(std::int64_t diagonal, index_t rows, std::int64_t nnz, const RowEnd& row_end) {
  const auto first = static_cast<index_t>(std::max<std::int64_t>(diagonal - nnz, 0));
  const auto last = static_cast<index_t>(std::min<std::int64_t>(diagonal, rows));
  const auto ended = [&](index_t row) { return row_end(row) <= diagonal - row - 1; };
  const index_t row = partition_point(first, last, ended);
  return {row, diagonal - row};
}

/// Start of part `part` of `parts` parts of equal work (rows + nonzeros).
template <class RowEnd>
merge_coordinate merge_path_split(int part, int parts, index_t rows, std::int64_t nnz, const RowEnd& row_end) {
  const std::int64_t work = rows + nnz;
  const std::int64_t diagonal = work / parts * part + work % parts * part / parts;
  return merge_path_search(diagonal, rows, nnz, row_end);
}

}  // namespace tulle::cpu
