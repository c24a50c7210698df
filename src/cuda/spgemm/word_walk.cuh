// Walks the pattern of a row of A B by words of 32 columns: in which order does not matter, so groups of lanes take rows of
// B side by side.
#pragma once

#include "cuda/spgemm/product_rows.cuh"

namespace tulle::cuda {

/// The rows of B as words: made once (column_words.hpp), or column by column where few columns share a word.
template <class O>
struct word_rows {
  const O* begin;         // of the words, or of the columns
  const uint2* words;     // null: columns
  const index_t* columns;

  template <bool Words>
  __device__ __forceinline__ uint2 at(O i) const {
    if constexpr (Words) {
      return words[i];
    } else {
      const auto column = static_cast<unsigned>(columns[i]);
      return {column / 32, 1u << column % 32};
    }
  }
};

/// The entries of a row of A that a warp holds, 32 at a time: calls visit(word, mask) with `Lanes` lanes a row of B.
template <int Lanes, bool Words, class O, class Visit>
__device__ __forceinline__ void walk_words(const word_rows<O>& b, O start, O end, int entries, Visit visit) {
  constexpr int side_by_side = 32 / Lanes;
  const int lane = lane_id() % Lanes, group = lane_id() / Lanes;
  for (int j = 0; j < entries; j += side_by_side) {
    const O first = __shfl_sync(full_warp, start, j + group), last = __shfl_sync(full_warp, end, j + group);
    for (O q = first + lane; q < last; q += Lanes) {
      const uint2 word = b.template at<Words>(q);
      visit(word.x, word.y);
    }
  }
}

}  // namespace tulle::cuda
