// The blocks of a CSR whose rows are sorted, by merging the rows of a block row: a lane walks a row, and the least next
// block column of eight lanes is the next block. Reads the pattern once, in order.
#pragma once

#include <tulle/formats/views.hpp>

#include "cuda/device/warp.cuh"
#include "cuda/runtime/launch.cuh"

namespace tulle::cuda {

constexpr int merge_lanes = 8;  // as many as a block has rows at most

/// A lane's row on its way through the block columns.
template <class O>
struct merged_row {
  const index_t* colind;
  index_t block;
  O at = 0, end = 0;
  bool unsorted = false;

  __device__ merged_row(index_t rows, const O* rowptr, const index_t* columns, index_t b, std::int64_t block_row)
      : colind(columns), block(b) {
    const int lane = static_cast<int>(threadIdx.x) % merge_lanes;
    const std::int64_t row = block_row * b + lane;
    if (lane >= b || row >= rows) return;
    at = rowptr[row];
    end = rowptr[row + 1];
  }

  /// Calls visit(k, column, first) for the blocks of the block row, number k in block column `column`: the lane's entries
  /// in it are first to at - 1. All lanes of a warp call it; visit is called by whole groups.
  template <class F>
  __device__ void for_each_block(F visit) {
    constexpr index_t none = 0x7fffffff;  // beyond every block column
    index_t next = at < end ? colind[at] / block : none;
    for (O k = 0; __any_sync(full_warp, next != none); ++k) {
      index_t column = next;
#pragma unroll
      for (int d = merge_lanes / 2; d > 0; d /= 2) column = min(column, __shfl_xor_sync(full_warp, column, d));
      const O first = at;
      if (next == column && column != none) next = pass(column) ? colind[at] / block : none;
      if (column != none) visit(k, column, first);
    }
  }

 private:
  /// Moves behind the block; false at the row's end.
  __device__ bool pass(index_t column) {
    const std::int64_t past = (std::int64_t{column} + 1) * block;
    index_t last = colind[at];
    while (++at < end) {
      const index_t c = colind[at];
      unsorted |= c < last;
      if (c >= past) return true;
      last = c;
    }
    return false;
  }
};

}  // namespace tulle::cuda
