// Walks the products of a row of A B in an order that depends on A and B alone, and adds them up where `find` says, in
// shared memory that the warp owns. Inside a row of B columns are distinct, so no two lanes of a group meet; groups that
// walk several rows of B side by side take turns. No atomics.
#pragma once

#include "cuda/spgemm/product_rows.cuh"

namespace tulle::cuda {

/// First position in [begin, end) of ascending columns whose column is at least `column`.
template <class O>
__device__ __forceinline__ O lower_bound(const index_t* columns, O begin, O end, index_t column) {
  while (begin < end) {
    const O middle = begin + (end - begin) / 2;
    if (columns[middle] < column) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

/// Columns [first, last] of C. Bounded: rows of B may reach beyond.
template <bool Bounded>
struct column_range {
  index_t first;
  index_t last;
};

/// `Lanes` lanes a row of B, entries [begin, end) of A. sums.place(column) says where a product goes (-1:
/// nowhere, if Sums::masked), and sums.add(place, product) adds it; all lanes of the warp call this.
template <int Lanes, bool Bounded, class T, class O, class Sums>
__device__ __forceinline__ void walk_values(const product_pattern<O>& m, const T* a, const T* b, O begin, O end,
                                            column_range<Bounded> range, Sums& sums) {
  constexpr int side_by_side = 32 / Lanes;
  const int lane = lane_id() % Lanes, group = lane_id() / Lanes;
  for (O base = begin; base < end; base += 32) {
    const O mine = base + lane_id();
    O start = 0, stop = 0;
    T factor = 0;
    if (mine < end) {
      const index_t inner = m.a_colind[mine];
      start = m.b_rowptr[inner];
      stop = m.b_rowptr[inner + 1];
      factor = a[mine];
      if constexpr (Bounded) start = lower_bound(m.b_colind, start, stop, range.first);
    }
    const int entries = end - base < 32 ? static_cast<int>(end - base) : 32;
    int j = 0;
    O q = __shfl_sync(full_warp, start, group) + lane, last = __shfl_sync(full_warp, stop, group);
    T f = __shfl_sync(full_warp, factor, group);
    // One step ahead: the next columns and values are on their way while these are added.
    bool has = q < last;
    index_t column = has ? m.b_colind[q] : 0;
    T value = has ? b[q] : T{0};
    while (true) {
      if constexpr (Bounded) has = has && column <= range.last;
      const index_t now_column = column;
      const T now_product = f * value;
      const bool now_has = has;
      q += Lanes;
      const bool more = __any_sync(full_warp, has && q < last);
      if (!more) {
        j += side_by_side;
        const int source = (j + group) % 32;
        q = __shfl_sync(full_warp, start, source) + lane;
        last = __shfl_sync(full_warp, stop, source);
        f = __shfl_sync(full_warp, factor, source);
      }
      const bool done = j >= entries;
      has = !done && q < last && (!Bounded || !more || has);
      column = has ? m.b_colind[q] : 0;
      value = has ? b[q] : T{0};
      const int place = now_has ? sums.place(now_column) : -1;
      const bool adds = Sums::masked ? place >= 0 : now_has;
#pragma unroll
      for (int turn = 0; turn < side_by_side; ++turn) {
        if (adds && (side_by_side == 1 || turn == group)) sums.add(place, now_product);
        __syncwarp();
      }
      if (done) break;
    }
  }
}

}  // namespace tulle::cuda
