// The kernel of csr.pieces for X and Y whose rows are aligned to 16 bytes; see csr_pieces.cu.
#pragma once

#include "cuda/device/grid.cuh"
#include "cuda/device/load.cuh"
#include "cuda/device/warp.cuh"
#include "cuda/spmv/many_vectors.cuh"
#include "cuda/spmv/part_sums.cuh"

namespace tulle::cuda {

/// `across` neighbouring lanes, a power of two, of which each holds 16 bytes of a row of X and of Y.
struct lane_group {
  int across;
  int lane;       // in the group
  unsigned mask;  // of the group, in the warp

  __device__ __forceinline__ explicit lane_group(int lanes)
      : across(lanes),
        lane(lane_id() & (lanes - 1)),
        mask((lanes == 32 ? full_warp : (1u << lanes) - 1) << (lane_id() & ~(lanes - 1))) {}
  /// What lane `from` of the group holds.
  template <class V>
  __device__ __forceinline__ V of(V v, int from) const {
    return __shfl_sync(mask, v, from, across);
  }
};

/// Where rows end, one after another: a group holds as many as it has lanes, and waits for as many more.
template <class O>
class row_ends {
 public:
  __device__ __forceinline__ row_ends(const lane_group& group, const O* rowptr, index_t rows, index_t first)
      : group_(group), rowptr_(rowptr), rows_(rows), base_(first) {
    now_ = fetch(first);
    next_ = fetch(first + group.across);
  }
  /// Of `row`, which is the last one asked for or the one behind it.
  __device__ __forceinline__ O of(index_t row) {
    if (row - base_ >= group_.across) {
      base_ += group_.across;
      now_ = next_;
      next_ = fetch(base_ + group_.across);
    }
    return group_.of(now_, row - base_);
  }

 private:
  __device__ __forceinline__ O fetch(index_t first) const {
    return __ldg(rowptr_ + min(std::int64_t{first} + group_.lane + 1, std::int64_t{rows_}));
  }
  const lane_group& group_;
  const O* rowptr_;
  index_t rows_, base_;
  O now_, next_;
};

/// A group takes a piece, entry after entry wherever rows end, so that rows of any length keep `Flight` rows of X in
/// flight. As many entries as it has lanes are read at once, those behind them while these are multiplied. blockIdx.y:
/// panel of across * 16 bytes of columns.
template <int Flight, class T, class O>
__global__ void __launch_bounds__(256, Flight > 4 ? 3 : 4)
    csr_pieces_wide_kernel(csr_view<T, O> a, row_pieces_view<O> pieces, wide_rows<T> x, int across,
                           scale_and_store_many<T> store, part_sums<T> parts) {
  constexpr int count = wide_rows<T>::count;
  const lane_group group(across);
  const std::int64_t w = grid_thread() / across;
  if (w >= pieces.count) return;
  const piece_begin<O> first = pieces.begin[w], last = pieces.begin[w + 1];
  if (first.row == last.row && first.entry == last.entry) return;  // between two cuts
  const index_t column = (static_cast<index_t>(blockIdx.y) * across + group.lane) * count;
  const bool live = column < x.columns;  // others read the first columns, and store nothing
  const typename wide_rows<T>::reader read{x.x + (live ? column : 0), x.row_stride};

  index_t row = first.row;
  bool from_start = first.entry == a.rowptr[row];
  row_ends<O> ends(group, a.rowptr, a.rows, row);
  O row_end = ends.of(row);
  T sum[count] = {};

  const auto leave = [&](T* to) {
    if (!live) return;
#pragma unroll
    for (int i = 0; i < count; ++i) to[column + i] = sum[i];
  };
  const auto close_row = [&] {
    if (!from_start) {
      leave(parts.at(pieces.behind(w)));
    } else if (live) {
      if (store.wide) {
        store.store_wide(row, column, sum);
      } else {
#pragma unroll
        for (int i = 0; i < count; ++i) store(row, column + i, sum[i]);
      }
    }
#pragma unroll
    for (int i = 0; i < count; ++i) sum[i] = T{0};
    from_start = true;
    ++row;
    row_end = ends.of(row);
  };

  const O end = last.entry;
  const auto fetch = [&](O at, index_t& c, T& v) {
    const O i = at + group.lane;
    c = i < end ? load_stream(a.colind + i) : 0;
    v = i < end ? load_stream(a.values + i) : T{0};
  };
  index_t c, c_next;
  T v, v_next;
  fetch(first.entry, c, v);
  for (O k = first.entry; k < end; k += across) {
    fetch(k + across, c_next, v_next);
    for (int f0 = 0; f0 < across && k + f0 < end; f0 += Flight) {
      T from_x[Flight][count];
#pragma unroll
      for (int f = 0; f < Flight; ++f) {
        const index_t of_x = group.of(c, f0 + f);
        if (k + f0 + f < end) read(of_x, from_x[f]);
      }
#pragma unroll
      for (int f = 0; f < Flight; ++f) {
        const O at = k + f0 + f;
        const T value = group.of(v, f0 + f);
        if (at >= end) continue;
        while (at == row_end) close_row();
#pragma unroll
        for (int i = 0; i < count; ++i) sum[i] = multiply_add(value, from_x[f][i], sum[i]);
      }
    }
    c = c_next;
    v = v_next;
  }
  while (row < last.row) close_row();
  if (end > a.rowptr[last.row]) leave(parts.at(from_start ? pieces.before(w + 1) : pieces.behind(w)));
}

}  // namespace tulle::cuda
