// The kernel of csr.pieces for 512 bytes of a row of X in f32; see csr_pieces.cu. As in csr_pieces_ring.cuh a warp
// takes the entries of its piece as one stream, whatever rows they are of, but rows of X come to registers, four on
// their way, through L1: faster than the ring where L1 serves much of X, as slow where it does not. Columns and values
// come by asynchronous copies, 32 entries ahead; a lane holds the end of one of 32 rows.
#pragma once

#include <cuda_pipeline_primitives.h>

#include <limits>

#include "cuda/device/grid.cuh"
#include "cuda/device/warp.cuh"
#include "cuda/spmv/many_vectors.cuh"
#include "cuda/spmv/part_sums.cuh"

namespace tulle::cuda {

/// Where the rows of a piece end that end in it, from the piece's first entry; 32 rows at a time, a lane each, and the
/// 32 behind them on their way.
template <class O>
struct row_ends {
  static constexpr int never = std::numeric_limits<int>::max();
  const O* rowptr;
  O origin;
  index_t row;        // the one whose end is `end`
  index_t last;       // behind those that end here
  index_t first = 0;  // of the 32
  int here = never, ahead = never, end = never;

  [[nodiscard]] __device__ __forceinline__ int load(index_t from) const {
    const index_t r = from + lane_id();
    return r < last ? static_cast<int>(__ldg(rowptr + r + 1) - origin) : never;
  }
  __device__ __forceinline__ void begin() {
    first = row;
    here = load(row);
    ahead = load(row + 32);
    end = __shfl_sync(full_warp, here, 0);
  }
  __device__ __forceinline__ void advance() {
    if (++row == first + 32) {
      first = row;
      here = ahead;
      ahead = load(row + 32);
    }
    end = __shfl_sync(full_warp, here, row - first);
  }
};

/// Not inlined: its registers are those of the rows of X on their way.
template <class T>
__device__ __noinline__ void store_any(const scale_and_store_many<T>& store, index_t row, index_t column, int4 raw) {
  T sum[wide_rows<T>::count];
  memcpy(sum, &raw, 16);
  store.store_each(row, column, sum);
}

template <class T, class O>
__global__ void __launch_bounds__(256, 4)
    csr_pieces_stream_kernel(csr_view<T, O> a, row_pieces_view<O> pieces, wide_rows<T> rows_of_x,
                             const __grid_constant__ scale_and_store_many<T> store, part_sums<T> parts) {
  constexpr int count = wide_rows<T>::count, batch = 32, flight = 4;
  __shared__ struct {
    alignas(16) index_t column[2 * batch];  // of this batch of entries and the next
    alignas(16) T value[2 * batch];
  } of_warp[256 / 32];
  auto& mine = of_warp[threadIdx.x / 32];
  const std::int64_t w = grid_thread() / 32;
  if (w >= pieces.count) return;
  const piece_begin<O> first = pieces.begin[w], last = pieces.begin[w + 1];
  if (first.row == last.row && first.entry == last.entry) return;  // between two cuts
  const int length = static_cast<int>(last.entry - first.entry);
  const index_t column0 = (static_cast<index_t>(blockIdx.y) * 32 + lane_id()) * count;
  const bool live = column0 < rows_of_x.columns;
  const T* const x = rows_of_x.x + (live ? column0 : 0);

  const auto read_batch = [&](int from) {
    const int e = from + lane_id(), at = e % (2 * batch);
    const std::size_t none = e < length ? 0 : sizeof(T);  // zeros
    const O k = first.entry + (e < length ? e : 0);
    __pipeline_memcpy_async(&mine.column[at], a.colind + k, sizeof(index_t), none);
    __pipeline_memcpy_async(&mine.value[at], a.values + k, sizeof(T), none);
    __pipeline_commit();
  };
  static_assert(sizeof(T) == sizeof(index_t));
  read_batch(0);
  row_ends<O> ends{a.rowptr, first.entry, first.row, last.row};
  ends.begin();
  const bool begins_cut = first.entry > a.rowptr[first.row];
  const bool simple = store.wide && store.beta == T{0} && store.then.bias == nullptr && !store.then.relu;

  T sum[count] = {};
  const auto finish = [&](index_t row, bool is_whole) {
    if (!live) return;
    const bool begins = !begins_cut || row != first.row;
    T out[count];
#pragma unroll
    for (int i = 0; i < count; ++i) out[i] = sum[i];
    T* to = nullptr;
    if (!begins || !is_whole) {
      to = parts.at(begins ? pieces.before(w + 1) : pieces.behind(w)) + column0;
    } else if (simple) {
#pragma unroll
      for (int i = 0; i < count; ++i) out[i] = multiply_add(store.alpha, sum[i], T{0});
      to = store.y.at(row, column0);
    }
    int4 raw;
    memcpy(&raw, out, 16);
    if (to == nullptr) return store_any(store, row, column0, raw);
    *reinterpret_cast<int4*>(to) = raw;
  };
  const auto finish_rows = [&](int at) {
    while (ends.end == at) {
      finish(ends.row, true);
#pragma unroll
      for (int i = 0; i < count; ++i) sum[i] = T{0};
      ends.advance();
    }
  };
  finish_rows(0);
  for (int from = 0; from < length; from += batch) {
    __syncwarp();
    read_batch(from + batch);
    __pipeline_wait_prior(1);
    __syncwarp();
    const int here = min(batch, length - from), at = from % (2 * batch);
    for (int e = 0; e < here; e += flight) {
      index_t column[flight];
      T value[flight], part[flight][count];
      memcpy(column, &mine.column[at + e], sizeof(column));
#pragma unroll
      for (int f = 0; f < flight; ++f) {
        int4 raw{};
        if (e + f < here) raw = __ldg(reinterpret_cast<const int4*>(x + column[f] * rows_of_x.row_stride));
        memcpy(part[f], &raw, 16);
      }
      memcpy(value, &mine.value[at + e], sizeof(value));
#pragma unroll
      for (int f = 0; f < flight; ++f) {
#pragma unroll
        for (int i = 0; i < count; ++i) sum[i] = multiply_add(value[f], part[f][i], sum[i]);
        finish_rows(from + e + f + 1);
      }
    }
  }
  if (last.entry > a.rowptr[last.row]) finish(last.row, false);
}

}  // namespace tulle::cuda
