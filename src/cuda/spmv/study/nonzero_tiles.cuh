// One thread per nonzero, for csr.value and coo: products are summed by row within the warp, within the block, and
// across blocks (carries.cuh).
//
// `Rows` finds the row of a nonzero: rows.first(tile) is the row of the tile's first nonzero, rows.of(k, tile) that of
// nonzero k in the tile, and rows.goes_on(tile) says whether the tile's first row started in an earlier tile.
#pragma once

#include "cuda/device/load.cuh"
#include "cuda/device/search.cuh"
#include "cuda/device/segment_scan.cuh"
#include "cuda/device/warp.cuh"
#include "cuda/spmv/carries.cuh"

namespace tulle::cuda {

template <class T, class Rows, class Store>
__device__ __forceinline__ void sum_nonzero_tile(const Rows& rows, std::int64_t nnz, const index_t* __restrict__ colind,
                                                 const T* __restrict__ values, const T* __restrict__ x, T* head,
                                                 const Store& store) {
  __shared__ segment_scan_storage<T> storage;
  const std::int64_t tile = blockIdx.x;
  const std::int64_t begin = tile * blockDim.x;
  const std::int64_t k = begin + threadIdx.x;
  const std::int64_t end = min(begin + std::int64_t{blockDim.x}, nnz);
  const bool live = k < nnz;
  const index_t row = rows.of(live ? k : nnz - 1, tile);  // threads past the end repeat the last row with zeros
  const T product = live ? multiply_add(load_stream(values + k), __ldg(x + load_stream(colind + k)), T{0}) : T{0};
  const T sum = block_segment_scan(row, product, storage);
  index_t next_row = __shfl_down_sync(full_warp, row, 1);
  if (!live) return;
  const bool last_of_tile = k + 1 == end;
  if (lane_id() == 31 && !last_of_tile) next_row = rows.of(k + 1, tile);
  if (!last_of_tile && next_row == row) return;
  if (row == rows.first(tile) && rows.goes_on(tile)) {
    head[tile] = sum;
  } else {
    store(row, sum);
  }
}

/// Finds the rows that the ends of tiles cut. Element t of the result: the row of the first nonzero of tile t, and of
/// the last nonzero for the last element.
template <class T, class O>
buffer<index_t> find_cut_rows(const context& ctx, csr_view<T, O> a, std::int64_t tile_size, carries<T>& carries) {
  buffer<index_t> tile_rows(ctx, static_cast<std::size_t>(carries.tiles()) + 1);
  if (a.nnz == 0) return tile_rows;
  const device_guard guard(ctx.device());
  index_t* const tile_row = tile_rows.data();
  for_each_item(ctx, "find_tile_rows", carries.tiles() + 1, [=] __device__(std::int64_t t) {
    tile_row[t] = row_of(a.rowptr, 0, a.rows, min(t * tile_size, static_cast<std::int64_t>(a.nnz) - 1));
  });
  const auto find = [=, row = carries.row(), last = carries.last()] __device__(std::int64_t t) {
    const std::int64_t begin = t * tile_size;
    const std::int64_t end = min(begin + tile_size, static_cast<std::int64_t>(a.nnz));
    const index_t r = row_of(a.rowptr, tile_row[t], tile_row[t + 1] + 1, end - 1);
    row[t] = r;
    const bool starts_here = static_cast<std::int64_t>(a.rowptr[r]) >= begin;
    last[t] = static_cast<std::int32_t>(starts_here ? (static_cast<std::int64_t>(a.rowptr[r + 1]) - 1) / tile_size : t);
  };
  for_each_item(ctx, "find_cut_rows", carries.tiles(), find);
  return tile_rows;
}

}  // namespace tulle::cuda
