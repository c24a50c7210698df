// The work of one block of csr.stream: its tile of nonzeros, and its slice of rows if a single tile holds all of it.
#pragma once

#include <tulle/formats/views.hpp>

#include "cuda/device/load.cuh"
#include "cuda/device/warp.cuh"
#include "cuda/spmv/shared_parts.cuh"
#include "cuda/spmv/shared_rows.cuh"
#include "cuda/spmv/stream_tiles.cuh"

namespace tulle::cuda {

/// What was fastest on an NVIDIA H200 (docs/notes/0003-csr-stream.md).
template <class T>
struct stream_policy {
  static constexpr bool values_before_x = sizeof(T) == 8;  // which loads are issued first
  static constexpr int batch = sizeof(T) == 8 ? 2 : 1;
};

template <class T>
struct stream_workspace {
  tile_rows* rows;
  shared_parts<T> parts;
  std::int32_t tiles;
  std::int32_t slices;
};

template <class T, class O, int Block, int Items>
struct stream_block {
  using tiling = nonzero_tiling<Block * Items, Block * Items / 2>;
  static constexpr int most_products = tiling::size + Block;

  using range_of_rows = row_range<Block, most_products, stream_policy<T>::batch, O>;

  const csr_view<T, O>& a;
  const stream_workspace<T>& work;
  const T* __restrict__ x;
  padded_products<T> products;

  __device__ __forceinline__ T product(const index_t* colind, const T* values, int k) const {
    return multiply_add(load_stream(values + k), __ldg(x + load_stream(colind + k)), T{0});
  }

  /// Products first..first+count-1 of the matrix to shared memory.
  __device__ void stage(std::int64_t first, int count) const {
    for (int k = threadIdx.x; k < count; k += Block) products[k] = product(a.colind + first, a.values + first, k);
  }

  template <class Epilogue>
  __device__ __forceinline__ void tile(Epilogue& epilogue) const {
    const std::int64_t tile = blockIdx.x;
    const std::int64_t first = tile * tiling::size;
    const index_t* const colind = a.colind + first;
    const T* const values = a.values + first;
    const int count = static_cast<int>(min(std::int64_t{tiling::size}, static_cast<std::int64_t>(a.nnz) - first));
    const int me = threadIdx.x;

    tile_rows rows = work.rows[tile];
    if (rows.begin >= 0) prefetch_offsets(rows);
    if (rows.begin >= 0 && rows.begin + me < rows.end) epilogue.fetch(rows.begin + me);
    T value[Items];
    if (count == tiling::size) {
      const int taken = rows.begin < 0 ? 0 : -rows.head;  // the tile before has summed these
      index_t column[Items];
#pragma unroll
      for (int i = 0; i < Items; ++i) column[i] = load_stream(colind + me + i * Block);
      if constexpr (stream_policy<T>::values_before_x) {
#pragma unroll
        for (int i = 0; i < Items; ++i) value[i] = load_stream(values + me + i * Block);
#pragma unroll
        for (int i = 0; i < Items; ++i) {
          value[i] = me + i * Block >= taken ? multiply_add(value[i], __ldg(x + column[i]), T{0}) : T{0};
        }
      } else {
#pragma unroll
        for (int i = 0; i < Items; ++i) value[i] = me + i * Block >= taken ? __ldg(x + column[i]) : T{0};
#pragma unroll
        for (int i = 0; i < Items; ++i) value[i] = multiply_add(load_stream(values + me + i * Block), value[i], T{0});
      }
    } else {
#pragma unroll
      for (int i = 0; i < Items; ++i) value[i] = me + i * Block < count ? product(colind, values, me + i * Block) : T{0};
    }
    if (rows.begin < 0) {
      rows = tiling::find(a.rowptr, a.rows, tile, work.tiles);
      if (me == 0) work.rows[tile] = rows;
    }

    const bool shares_head = rows.head > 0;
    const bool shares_tail = rows.overhang < 0;
    if (rows.head == tiling::size) {  // a single row
      const tile_span at = span_of(rows.begin - 1);
      T sum = value[0];
#pragma unroll
      for (int i = 1; i < Items; ++i) sum = add(sum, value[i]);
      sum = sum_over_block<Block>(sum);
      if (me < 32) leave_part(work.parts, sum, rows.begin - 1, at, tile, epilogue);
      if (rows.begin == rows.end) return;
    }
    const index_t end = rows.end - (shares_tail ? 1 : 0);
    const index_t first_slice = rows.begin / tiling::slice + (rows.begin % tiling::slice != 0);
    const index_t past_slices = tile + 1 == work.tiles ? work.slices : (rows.end - 1) / tiling::slice;
    const bool leaves_slices = past_slices > first_slice;
    range_of_rows range(a.rowptr, static_cast<O>(first), rows.begin,
                              leaves_slices ? first_slice * tiling::slice : end);
#pragma unroll
    for (int i = 0; i < Items; ++i) products[me + i * Block] = value[i];
    if (me < rows.overhang) {  // from here on, the sum of every Block-th product
      T sum{0};
      for (int k = tiling::size + me; k < tiling::size + rows.overhang; k += Block) {
        sum = multiply_add(load_stream(values + k), __ldg(x + load_stream(colind + k)), sum);
      }
      products[tiling::size + me] = sum;
    }
    __syncthreads();
    if (shares_head && rows.head < tiling::size && me < 32) {
      const T sum = warp_sum(sum_products(products, me, rows.head, 32));
      leave_part(work.parts, sum, rows.begin - 1, span_of(rows.begin - 1), tile, epilogue);
    }
    if (shares_tail && me >= Block - 32) {
      const int from = static_cast<int>(static_cast<std::int64_t>(a.rowptr[end]) - first);
      const T sum = warp_sum(sum_products(products, from + me % 32, tiling::size, 32));
      leave_part(work.parts, sum, end, span_of(end), tile, epilogue);
    }
    range.sum(products, epilogue);
    if (leaves_slices && static_cast<std::int64_t>(past_slices) * tiling::slice < end) {
      range = {a.rowptr, static_cast<O>(first), past_slices * tiling::slice, end};
      range.sum(products, epilogue);
    }
  }

  /// A slice of rows, if one tile holds all of it; otherwise its rows are the work of the tiles.
  template <class Epilogue>
  __device__ __forceinline__ void slice(Epilogue& epilogue) const {
    const std::int64_t begin = std::int64_t{blockIdx.x} * tiling::slice;
    const std::int64_t end = begin + tiling::slice;
    const O first = a.rowptr[begin], last = a.rowptr[end];
    if (tiling::tile_of(first, work.tiles) != tiling::tile_of(last, work.tiles)) return;
    const int count = static_cast<int>(last - first);
    range_of_rows range(a.rowptr, first, static_cast<index_t>(begin), static_cast<index_t>(end));
    __syncthreads();
    stage(first, count);
    __syncthreads();
    range.sum(products, epilogue);
  }

 private:
  /// Prefetches the offsets of the tile's rows while its nonzeros are loaded.
  __device__ __forceinline__ void prefetch_offsets(const tile_rows& rows) const {
    constexpr int line = 128 / sizeof(O);
    const std::int64_t row = std::int64_t{max(rows.begin - 1, 0)} + threadIdx.x * line;
    if (row < rows.end + line && row <= a.rows) prefetch_l2(a.rowptr + row);
  }
  __device__ __forceinline__ tile_span span_of(index_t row) const {
    return {static_cast<std::int64_t>(a.rowptr[row]) / tiling::size,
            (static_cast<std::int64_t>(a.rowptr[row + 1]) - 1) / tiling::size};
  }
};

}  // namespace tulle::cuda
