// One thread per nonzero, for csr.value and coo: products are summed by row within the warp, within the block, and
// across blocks (carries.cuh).
//
// `Rows` finds the row of a nonzero: rows.first(tile) is the row of the tile's first nonzero, rows.of(k, tile) that of
// nonzero k in the tile, and rows.goes_on(tile) says whether the tile's first row started in an earlier tile.
#pragma once

#include "cuda/device/load.cuh"
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

}  // namespace tulle::cuda
