// Ascending columns by words of 32, a warp at a time.
#pragma once

#include "cuda/spgemm/product_rows.cuh"

namespace tulle::cuda {

/// 32 neighbouring entries of a row, one per lane.
struct word_run {
  int word = -1;       // -1: no entry
  unsigned mask = 0;   // this entry's column, then those of the entries of its word from this lane on
  unsigned heads = 0;  // lanes whose entry is the first of its word

  /// -1: no column.
  __device__ __forceinline__ static word_run of(index_t column) {
    return column >= 0 ? word_run{column / 32, 1u << column % 32} : word_run{};
  }
  __device__ __forceinline__ int last() const { return __shfl_sync(full_warp, word, 31); }

  /// `before`: the word of the entry before these. All lanes of the warp call it.
  __device__ __forceinline__ void gather(int before) {
    int left = __shfl_up_sync(full_warp, word, 1);
    if (lane_id() == 0) left = before;
    const unsigned real = __ballot_sync(full_warp, word >= 0);
    heads = __ballot_sync(full_warp, word >= 0 && word != left);
    const unsigned later = (heads | ~real) & ~(lanes_before() << 1 | 1);
    const int end = later == 0 ? 32 : __ffs(static_cast<int>(later)) - 1;  // of the word's entries among these
    for (int d = 1; __any_sync(full_warp, lane_id() + d < end); d *= 2) {
      const unsigned more = __shfl_down_sync(full_warp, mask, d);
      if (lane_id() + d < end) mask |= more;
    }
  }
};

}  // namespace tulle::cuda
