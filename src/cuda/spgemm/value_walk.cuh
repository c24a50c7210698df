// Walks the products of a row of A B and adds them up where `sums` says, in shared memory that the warp owns. The
// products of an entry of C are added one by one in the order of A's entries, each rounded before it is added, so the
// sums do not depend on how the walk is laid out. Inside a row of B columns are distinct, so no two lanes that share
// one meet; pieces of several rows side by side are added one after the other. No atomics.
#pragma once

#include "cuda/device/arithmetic.cuh"
#include "cuda/spgemm/column_search.cuh"
#include "cuda/spgemm/product_rows.cuh"

namespace tulle::cuda {

/// Columns [first, last] of C. Bounded: rows of B may reach beyond.
template <bool Bounded>
struct column_range {
  index_t first;
  index_t last;
};

/// Pieces of rows of B that a group of lanes has in flight: all are read before any of their products is added.
constexpr int walk_depth = 4;

/// An entry of A: the row of B that it asks for (or its part in the range) and its factor.
template <class T, class O>
struct alignas(16) held_row {
  O start = 0;
  O stop = 0;
  T factor = 0;
};

/// Pieces on their way: entries of B, and the factors that A has for them.
template <class T>
struct pieces {
  index_t column[walk_depth];  // -1: none
  T value[walk_depth];
  T factor[walk_depth];

  /// next(u, first, last, factor): piece u's first position of this lane, its end and its factor.
  template <bool Values, class O, class Next>
  __device__ __forceinline__ void load(const product_pattern<O>& m, const T* b, Next next) {
#pragma unroll
    for (int u = 0; u < walk_depth; ++u) {
      O position, end;
      next(u, position, end, factor[u]);
      const bool has = position < end;
      column[u] = has ? __ldg(m.b_colind + position) : -1;
      value[u] = Values && has ? __ldg(b + position) : T{0};
    }
  }

  template <int Lanes, class Sums>
  __device__ __forceinline__ void add_to(Sums& sums) const {
    constexpr int side_by_side = 32 / Lanes;
    int place[walk_depth];  // -1: nothing to add
#pragma unroll
    for (int u = 0; u < walk_depth; ++u) place[u] = column[u] >= 0 ? sums.place(column[u]) : -1;
#pragma unroll
    for (int u = 0; u < walk_depth; ++u) {
#pragma unroll
      for (int group = 0; group < side_by_side; ++group) {
        if (place[u] >= 0 && (side_by_side == 1 || group == lane_id() / Lanes)) {
          sums.add(place[u], rounded_product(factor[u], value[u]));
        }
        __syncwarp();
      }
    }
  }
};

/// A warp per row of B at a time: those of `rows`, in shared memory (a broadcast read takes less of its bandwidth than
/// as many shuffles). Ahead: the next pieces are on their way while these are added, which pays where few warps share a
/// multiprocessor.
template <bool Ahead, class T, class O, class Sums>
__device__ __forceinline__ void walk_rows(const product_pattern<O>& m, const T* b, const held_row<T, O>* rows,
                                          int count, Sums& sums) {
  const held_row<T, O>* const stop = rows + count;
  O position = 0, end = 0;
  T factor = 0;
  const auto next = [&](int, O& first, O& last, T& f) {
    if (position >= end && rows < stop) {
      const held_row<T, O> row = *rows++;
      position = row.start;
      end = row.stop;
      factor = row.factor;
    }
    first = position + lane_id();
    last = end;
    f = factor;
    position += 32;
  };
  pieces<T> now;
  if constexpr (Ahead) {
    now.template load<true>(m, b, next);
    while (rows < stop || position < end) {
      pieces<T> ahead;
      ahead.template load<true>(m, b, next);
      now.template add_to<32>(sums);
      now = ahead;
    }
    now.template add_to<32>(sums);
  } else {
    while (rows < stop || position < end) {
      now.template load<true>(m, b, next);
      now.template add_to<32>(sums);
    }
  }
}

/// Groups of lanes take pieces of `Lanes` entries, in order.
template <int Lanes, bool Values, class T, class O, class Sums>
__device__ __forceinline__ void walk_short_rows(const product_pattern<O>& m, const T* b, const held_row<T, O>& held,
                                                Sums& sums) {
  constexpr int side_by_side = 32 / Lanes;
  const int lane = lane_id() % Lanes, group = lane_id() / Lanes;
  const std::int64_t count = (std::int64_t{held.stop} - held.start + Lanes - 1) / Lanes;
  const std::int64_t after = warp_inclusive_sum(count);
  const std::int64_t all = __shfl_sync(full_warp, after, 31);
  for (std::int64_t base = 0; base < all; base += walk_depth * side_by_side) {
    pieces<T> now;
    now.template load<Values>(m, b, [&](int u, O& first, O& last, T& f) {
      const std::int64_t piece = base + u * side_by_side + group;
      int source = 0;  // the first row with more pieces up to its end than come before this one
#pragma unroll
      for (int step = 16; step > 0; step /= 2) {
        if (__shfl_sync(full_warp, after, source + step - 1) <= piece) source += step;
      }
      const std::int64_t ordinal = piece - __shfl_sync(full_warp, after - count, source);
      first = __shfl_sync(full_warp, held.start, source) + static_cast<O>(ordinal) * Lanes + lane;
      last = __shfl_sync(full_warp, held.stop, source);
      if (piece >= all) last = 0;
      f = __shfl_sync(full_warp, held.factor, source);
    });
    now.template add_to<Lanes>(sums);
  }
}

/// Entries [begin, end) of A; `Lanes` lanes per row of B. sums.place(column) says where a product goes (-1: nowhere),
/// and sums.add(place, product) adds it; all lanes of the warp call this. Not Values: `a` and `b` are not read. `rows`:
/// room for 32 in shared memory of the warp's own, where Lanes is 32.
template <int Lanes, bool Bounded, bool Ahead, bool Values = true, class T, class O, class Sums>
__device__ __forceinline__ void walk_values(const product_pattern<O>& m, const T* a, const T* b, O begin, O end,
                                            column_range<Bounded> range, Sums& sums,
                                            [[maybe_unused]] held_row<T, O>* rows = nullptr) {
  for (O base = begin; base < end; base += 32) {
    const O mine = base + lane_id();
    held_row<T, O> held;
    if (mine < end) {
      const index_t inner = __ldg(m.a_colind + mine);
      held.start = __ldg(m.b_rowptr + inner);
      held.stop = __ldg(m.b_rowptr + inner + 1);
      if constexpr (Values) held.factor = __ldg(a + mine);
      if constexpr (Bounded) {
        held.start = lower_bound(m.b_colind, held.start, held.stop, range.first);
        held.stop = lower_bound(m.b_colind, held.start, held.stop, range.last + 1);
      }
    }
    if constexpr (Lanes == 32) {
      static_assert(Values);
      const unsigned filled = __ballot_sync(full_warp, held.start < held.stop);
      if (held.start < held.stop) rows[__popc(filled & lanes_before())] = held;
      __syncwarp();
      walk_rows<Ahead>(m, b, rows, __popc(filled), sums);
      __syncwarp();
    } else {
      walk_short_rows<Lanes, Values>(m, b, held, sums);
    }
  }
}

}  // namespace tulle::cuda
