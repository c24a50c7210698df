// The kernel of csr.pieces for rows of X of 128 bytes and more; see csr_pieces.cu. A warp takes the entries of its
// piece as one stream, whatever rows they are of: 32 columns and values are read at once, two batches ahead, and their
// rows of X come by asynchronous copies to a ring in shared memory, so that what is on its way takes no registers and
// short rows do not wait one after another. `Across` lanes take 16 bytes each of a row of X; 32 / Across entries are a
// step.
#pragma once

#include <cuda_pipeline_primitives.h>

#include <limits>

#include "cuda/device/grid.cuh"
#include "cuda/device/warp.cuh"
#include "cuda/spmv/many_vectors.cuh"
#include "cuda/spmv/part_sums.cuh"

namespace tulle::cuda {

/// Of a warp.
template <class T>
struct piece_ring {
  static constexpr int steps = 4;  // on their way; 8 are no faster (docs/notes/0025-spmm-cuda.md)
  int4 x[steps][32];               // a lane reads what it has copied itself
  index_t column[64];              // of this batch of 32 entries and the next
  T value[64];
  index_t row[32];  // those that end in this batch, in order
};

/// The rows of a piece that end in it, 32 at a time, a lane each; entries count from the piece's first one.
template <class O>
struct row_window {
  const O* rowptr;
  O origin;
  index_t first, last;  // rows [first, last)
  int begin = 0, end = 0;

  static constexpr int never = std::numeric_limits<int>::max();
  __device__ __forceinline__ void load() {
    const index_t row = first + lane_id();
    const bool there = row < last;
    begin = there ? static_cast<int>(rowptr[row] - origin) : never;
    end = there ? static_cast<int>(rowptr[row + 1] - origin) : never;
  }
  [[nodiscard]] __device__ __forceinline__ unsigned empty_rows() const {
    return __ballot_sync(full_warp, begin == end && end != never);
  }
  /// The end of the last row; `never` where no rows are left behind the window.
  [[nodiscard]] __device__ __forceinline__ int last_end() const { return __shfl_sync(full_warp, end, 31); }
};

/// Over lanes that differ in the bits from `Across` on.
template <int Across, class T, int Count>
__device__ __forceinline__ void add_groups(T (&sum)[Count]) {
#pragma unroll
  for (int d = Across; d < 32; d *= 2) {
#pragma unroll
    for (int i = 0; i < Count; ++i) sum[i] = add(sum[i], __shfl_xor_sync(full_warp, sum[i], d));
  }
}

template <int Across, class T, class O>
__global__ void __launch_bounds__(256, 4)
    csr_pieces_ring_kernel(csr_view<T, O> a, row_pieces_view<O> pieces, wide_rows<T> rows_of_x,
                           scale_and_store_many<T> store, part_sums<T> parts) {
  constexpr int count = wide_rows<T>::count, groups = 32 / Across;
  constexpr int ring = piece_ring<T>::steps;
  static_assert(ring * groups <= 32);
  __shared__ piece_ring<T> of_warp[256 / 32];
  piece_ring<T>& mine = of_warp[threadIdx.x / 32];
  const std::int64_t w = grid_thread() / 32;
  if (w >= pieces.count) return;
  const piece_begin<O> first = pieces.begin[w], last = pieces.begin[w + 1];
  if (first.row == last.row && first.entry == last.entry) return;  // between two cuts
  const int group = lane_id() / Across;
  const index_t column0 = (static_cast<index_t>(blockIdx.y) * Across + lane_id() % Across) * count;
  const bool live = column0 < rows_of_x.columns;
  const T* const x = rows_of_x.x + (live ? column0 : 0);
  const bool begins_cut = first.entry > a.rowptr[first.row];
  const int length = static_cast<int>(last.entry - first.entry);

  const auto finish = [&](index_t row, bool ends, const T* sum) {
    if (!live) return;
    const bool begins = !begins_cut || row != first.row;
    if (!begins || !ends) {
      T* const to = parts.at(begins ? pieces.before(w + 1) : pieces.behind(w)) + column0;
      for (int i = 0; i < count; ++i) to[i] = sum[i];
    } else {
      store.store_each(row, column0, sum);
    }
  };
  index_t next_column = -1;
  T next_value{0};
  const auto read_batch = [&](int from) {
    if (from + lane_id() >= length) return;
    next_column = __ldg(a.colind + first.entry + from + lane_id());
    next_value = __ldg(a.values + first.entry + from + lane_id());
  };
  const auto keep_batch = [&](int from) {
    mine.column[from % 64 + lane_id()] = next_column;
    mine.value[from % 64 + lane_id()] = next_value;
  };
  const auto copy_step = [&](int step) {
    const int e = step * groups + group;
    if (e < length) {
      __pipeline_memcpy_async(&mine.x[step % ring][lane_id()], x + mine.column[e % 64] * rows_of_x.row_stride, 16);
    }
    __pipeline_commit();
  };

  row_window<O> window{a.rowptr, first.entry, first.row, last.row};
  const auto load_window = [&] {
    window.load();
    const T none[count] = {};
    for (unsigned empty = window.empty_rows(); empty != 0; empty &= empty - 1) {
      if (group == 0) finish(window.first + __ffs(static_cast<int>(empty)) - 1, true, none);
    }
  };
  read_batch(0);
  keep_batch(0);
  read_batch(32);
  __syncwarp();
  for (int step = 0; step < ring; ++step) copy_step(step);
  load_window();

  T sum[count] = {};
  unsigned ends = 0;  // of this batch: a bit for each entry that is its row's last
  int ended = 0;      // rows of this batch
  for (int step = 0; step * groups < length; ++step) {
    const int at = step * groups % 32;
    if (at == 0) {
      const int batch = step * groups;
      __syncwarp();
      keep_batch(batch + 32);
      read_batch(batch + 64);
      ends = 0, ended = 0;
      for (;;) {
        const bool closes = window.end > batch && window.end - batch <= 32 && window.begin < window.end;
        const unsigned bit = closes ? 1u << (window.end - batch - 1) : 0;
        ends |= warp_or(bit);
        if (closes) mine.row[__popc(ends & (bit - 1))] = window.first + lane_id();
        if (window.last_end() - batch > 32) break;
        window.first += 32;
        load_window();
      }
      __syncwarp();
    }
    __pipeline_wait_prior(ring - 1);
    const int e = step * groups + group;
    T part[count];
    memcpy(part, &mine.x[step % ring][lane_id()], 16);
    const T value = mine.value[e % 64];
    const auto add_entry = [&] {
#pragma unroll
      for (int i = 0; i < count; ++i) sum[i] = multiply_add(value, part[i], sum[i]);
    };
    unsigned here = ends >> at & ((1u << groups) - 1);
    int from = 0;
    for (; here != 0; here &= here - 1) {
      const int to = __ffs(static_cast<int>(here)) - 1;
      if (group >= from && group <= to) add_entry();
      from = to + 1;
      add_groups<Across>(sum);
      if (group == 0) finish(mine.row[ended], true, sum);
      ++ended;
#pragma unroll
      for (int i = 0; i < count; ++i) sum[i] = T{0};
    }
    if (group >= from && e < length) add_entry();
    copy_step(step + ring);
  }
  while (window.last_end() != row_window<O>::never) {
    window.first += 32;
    load_window();
  }
  if (last.entry == a.rowptr[last.row]) return;
  add_groups<Across>(sum);
  if (group == 0) finish(last.row, false, sum);
}

}  // namespace tulle::cuda
