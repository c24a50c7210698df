// Walks the pattern of a row of A B by words of 32 columns: in which order does not matter, so groups of lanes take
// rows of B side by side.
#pragma once

#include "cuda/spgemm/product_rows.cuh"

namespace tulle::cuda {

/// The entries of a row of A that a warp holds, 32 at a time: calls visit(word, mask) with `Lanes` lanes per row of B,
/// until enough() holds for a lane; that is asked when a group is through with its rows.
template <int Lanes, bool Words, class O, class Visit, class Enough>
__device__ __forceinline__ void walk_words(const word_rows<O>& b, O start, O end, int entries, Visit visit,
                                           Enough enough) {
  constexpr int side_by_side = 32 / Lanes, depth = 2;  // rows of B that a group has in flight
  const int lane = lane_id() % Lanes, group = lane_id() / Lanes;
  // Groups take entries of A that are far apart: rows of B that are neighbours would meet in the same words.
  const int share = (entries + side_by_side - 1) / side_by_side;
  for (int j = 0; j < share; j += depth) {
    O q[depth], last[depth];
#pragma unroll
    for (int u = 0; u < depth; ++u) {
      const int source = group * share + j + u;  // lanes beyond the entries hold empty rows
      q[u] = __shfl_sync(full_warp, start, source % 32) + lane;
      last[u] = __shfl_sync(full_warp, end, source % 32);
      if (j + u >= share || source >= 32) last[u] = 0;
    }
    bool more = true;
    while (more) {
      uint2 word[depth];
#pragma unroll
      for (int u = 0; u < depth; ++u) word[u] = q[u] < last[u] ? b.template at<Words>(q[u]) : uint2{0, 0};
      more = false;
#pragma unroll
      for (int u = 0; u < depth; ++u) {
        if (word[u].y != 0) visit(word[u].x, word[u].y);
        q[u] += Lanes;
        more = more || q[u] < last[u];
      }
    }
    if (__any_sync(full_warp, enough())) return;
  }
}

}  // namespace tulle::cuda
