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
    if (__ldg(columns + middle) < column) {
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

/// Rows of B that a group of lanes has in flight: its loads are issued before any of their products is added.
constexpr int walk_depth = 4;

/// `Lanes` lanes a row of B, entries [begin, end) of A. sums.place(column) says where a product goes (-1:
/// nowhere), and sums.add(place, product) adds it; all lanes of the warp call this.
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
      const index_t inner = __ldg(m.a_colind + mine);
      start = __ldg(m.b_rowptr + inner);
      stop = __ldg(m.b_rowptr + inner + 1);
      factor = __ldg(a + mine);
      if constexpr (Bounded) start = lower_bound(m.b_colind, start, stop, range.first);
    }
    const int entries = end - base < 32 ? static_cast<int>(end - base) : 32;
    for (int j = 0; j < entries; j += walk_depth * side_by_side) {
      O q[walk_depth], last[walk_depth];
      T f[walk_depth];
#pragma unroll
      for (int u = 0; u < walk_depth; ++u) {
        const int source = j + u * side_by_side + group;  // lanes beyond the entries hold empty rows
        q[u] = __shfl_sync(full_warp, start, source % 32) + lane;
        last[u] = source < 32 ? __shfl_sync(full_warp, stop, source % 32) : O{0};
        f[u] = __shfl_sync(full_warp, factor, source % 32);
      }
      bool more;
      do {
        index_t column[walk_depth];
        T value[walk_depth];
#pragma unroll
        for (int u = 0; u < walk_depth; ++u) {
          const bool has = q[u] < last[u];
          column[u] = has ? __ldg(m.b_colind + q[u]) : -1;
          value[u] = has ? __ldg(b + q[u]) : T{0};
        }
        int place[walk_depth];  // -1: nothing to add
#pragma unroll
        for (int u = 0; u < walk_depth; ++u) {
          bool has = column[u] >= 0;
          if constexpr (Bounded) {
            if (column[u] > range.last) {
              has = false;
              last[u] = 0;
            }
          }
          place[u] = has ? sums.place(column[u]) : -1;
        }
        more = false;
#pragma unroll
        for (int u = 0; u < walk_depth; ++u) {
#pragma unroll
          for (int turn = 0; turn < side_by_side; ++turn) {
            if (place[u] >= 0 && (side_by_side == 1 || turn == group)) sums.add(place[u], f[u] * value[u]);
            __syncwarp();
          }
          q[u] += Lanes;
          more = more || q[u] < last[u];
        }
      } while (__any_sync(full_warp, more));
    }
  }
}

}  // namespace tulle::cuda
