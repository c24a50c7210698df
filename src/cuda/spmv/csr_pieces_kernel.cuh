// The kernel of csr.pieces for X that lies anyhow; see csr_pieces.cu.
#pragma once

#include "cuda/device/grid.cuh"
#include "cuda/spmv/many_walk.cuh"
#include "cuda/spmv/part_sums.cuh"
#include "cuda/spmv/product_ahead.cuh"

namespace tulle::cuda {

/// How a warp divides its piece: lane = ((row) * along + (entry)) * across + (column). Rows of more than `alone`
/// entries are taken by the whole warp.
struct warp_division {
  int across;
  int along;
  int alone;
};

/// A warp takes a piece, as many rows at a time as it has groups of across * along lanes. What the lanes of a row sum
/// is added by shuffles. blockIdx.y: panel of across * Rows::count columns. `Ahead`: as csr_pieces_stream_kernel.
template <bool Ahead, int Flight, class Rows, class T, class O>
__global__ void __launch_bounds__(256)
    csr_pieces_kernel(csr_view<T, O> a, row_pieces_view<O> pieces, Rows rows_of_x, warp_division by,
                      scale_and_store_many<T> store, part_sums<T> parts, const __grid_constant__ product_ahead ahead) {
  constexpr int count = Rows::count;
  start_dependents();
  if constexpr (Ahead) ahead.ask();
  const std::int64_t w = grid_thread() / 32;
  if (w >= pieces.count) return;
  const piece_begin<O> first = pieces.begin[w], last = pieces.begin[w + 1];
  if (first.row == last.row && first.entry == last.entry) return;  // between two cuts
  const int across = by.across, along = by.along, of_row = across * along, groups = 32 / of_row;
  const int group = lane_id() / of_row, lane = lane_id() % across;
  const int first_entry = lane_id() / across % along;
  const index_t column0 = static_cast<index_t>(blockIdx.y) * (across * count);
  const auto read = rows_of_x.from(column0).of(lane, across);
  const std::int64_t segments = last.row - first.row + 1;  // the last one may have no entry here

  const auto finish = [&](index_t row, O end, bool from_start, const T(&sum)[count]) {
    const bool whole = from_start && end == a.rowptr[row + 1];
    if (whole) return store_columns<Rows>(store, row, column0, rows_of_x.columns, lane, across, sum);
    T* const to = parts.at(from_start ? pieces.before(w + 1) : pieces.behind(w));
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const index_t column = column0 + Rows::column(lane, across, i);
      if (column < rows_of_x.columns) to[column] = sum[i];
    }
  };

  for (std::int64_t base = 0; base < segments; base += groups) {
    const index_t row = first.row + static_cast<index_t>(base) + group;
    O begin = 0, end = 0;
    bool there = base + group < segments, from_start = true;
    if (there) {
      begin = a.rowptr[row];
      end = row < last.row ? a.rowptr[row + 1] : last.entry;
      there = row < last.row || begin < end;
      if (base + group == 0 && first.entry > begin) begin = first.entry, from_start = false;
    }
    const bool by_all = end - begin > by.alone;
    T sum[count] = {};
    add_entries<Flight, Rows>(entries(a, begin, by_all ? begin : end, first_entry), along, read, sum);
    __syncwarp();
    add_lanes(sum, across, of_row);
    if (there && !by_all && first_entry == 0) finish(row, end, from_start, sum);
    unsigned long_rows = __ballot_sync(full_warp, by_all && lane_id() % of_row == 0);
    while (long_rows != 0) {
      const int leader = __ffs(static_cast<int>(long_rows)) - 1;
      long_rows &= long_rows - 1;
      const O from = __shfl_sync(full_warp, begin, leader), to = __shfl_sync(full_warp, end, leader);
      T share[count] = {};
      add_entries<Flight, Rows>(entries(a, from, to, lane_id() / across), 32 / across, read, share);
      __syncwarp();
      add_lanes(share, across, 32);
      if (group == leader / of_row && first_entry == 0) finish(row, to, from_start, share);
    }
    __syncwarp();
  }
}

}  // namespace tulle::cuda
