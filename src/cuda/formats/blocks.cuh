// Counting b x b blocks entry by entry, in rows that are sorted by column.
#pragma once

#include <cstdint>

#include "cuda/runtime/entries.cuh"

namespace tulle::cuda {

/// Rows of a block row: row r has the sorted columns[rowptr[r] - shift] to columns[rowptr[r + 1] - shift - 1].
template <class O>
struct block_rows_view {
  const index_t* columns;
  const O* rowptr;
  O shift;

  __device__ std::int64_t begin(std::int64_t row) const { return rowptr[row] - shift; }

  __device__ bool holds(std::int64_t row, std::int64_t first_column, index_t b) const {
    const std::int64_t from = begin(row);
    const std::int64_t length = begin(row + 1) - from;
    const std::int64_t at = lower_bound(columns + from, length, static_cast<index_t>(first_column));
    return at < length && columns[from + at] < first_column + b;
  }

  /// Whether entry k, of `row`, is the first of its b x b block by rows and then by columns; the block row starts at
  /// row `top`.
  __device__ bool opens_block(std::int64_t top, std::int64_t row, std::int64_t k, index_t b) const {
    const index_t block_column = columns[k] / b;
    if (k > begin(row) && columns[k - 1] / b == block_column) return false;
    for (std::int64_t above = row - 1; above >= top; --above) {
      if (holds(above, std::int64_t{block_column} * b, b)) return false;
    }
    return true;
  }
};

}  // namespace tulle::cuda
