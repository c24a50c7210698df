// The kernels of csr.pieces; see csr_pieces.cu.
#pragma once

#include "cuda/device/grid.cuh"
#include "cuda/device/warp.cuh"
#include "cuda/spmv/many_vectors.cuh"
#include "cuda/spmv/row_pieces.cuh"

namespace tulle::cuda {

/// Sums of parts of cut rows: at each slot that of the part before the cut, which is there for a row's first cut alone,
/// and that of the part behind it; `columns` values each.
template <class T>
struct part_sums {
  T* data;
  index_t columns;
  __device__ __forceinline__ T* before(std::int64_t slot) const { return data + 2 * slot * columns; }
  __device__ __forceinline__ T* behind(std::int64_t slot) const { return data + (2 * slot + 1) * columns; }
};

/// Entries of a row, from one on; `left` may be below 0.
template <class T, class O>
struct entries {
  const index_t* column;
  const T* value;
  O left;

  __device__ __forceinline__ entries(const csr_view<T, O>& a, O begin, O end, int skipped = 0)
      : column(a.colind + begin + skipped), value(a.values + begin + skipped), left(end - begin - skipped) {}
  __device__ __forceinline__ void advance(int by) {
    column += by;
    value += by;
    left -= by;
  }
  [[nodiscard]] __device__ __forceinline__ index_t column_at(int i) const { return i < left ? __ldg(column + i) : -1; }
  [[nodiscard]] __device__ __forceinline__ T value_at(int i) const { return i < left ? __ldg(value + i) : T{0}; }
};

/// Adds to a lane's sums every `step`-th entry, `Flight` rows of X at a time.
template <int Flight, class T, class O, class Reader, int Count>
__device__ __forceinline__ void add_entries(entries<T, O> e, int step, const Reader& read, T (&sum)[Count]) {
  for (; e.left > 0; e.advance(step * Flight)) {
    index_t column[Flight];
    T value[Flight], x[Flight][Count];
#pragma unroll
    for (int f = 0; f < Flight; ++f) {
      column[f] = e.column_at(f * step);
      value[f] = e.value_at(f * step);
    }
#pragma unroll
    for (int f = 0; f < Flight; ++f) {
      if (column[f] >= 0) read(column[f], x[f]);
    }
#pragma unroll
    for (int f = 0; f < Flight; ++f) {
      if (column[f] < 0) continue;
#pragma unroll
      for (int i = 0; i < Count; ++i) sum[i] = multiply_add(value[f], x[f][i], sum[i]);
    }
  }
}

/// A warp takes a piece. Its lanes are groups of `across` lanes, side by side over the columns. A group takes a row of
/// at most `alone` entries, as many rows at a time as there are groups; longer ones are taken by all groups, whose sums
/// are added by shuffles.
template <int Flight, class Rows, class T, class O>
__global__ void __launch_bounds__(256)
    csr_pieces_kernel(csr_view<T, O> a, row_pieces_view<O> pieces, Rows rows_of_x, int across, int alone,
                      scale_and_store_many<T> store, part_sums<T> parts) {
  constexpr int count = Rows::count;
  const std::int64_t w = grid_thread() / 32;
  if (w >= pieces.count) return;
  const piece_begin<O> first = pieces.begin[w], last = pieces.begin[w + 1];
  if (first.row == last.row && first.entry == last.entry) return;  // between two cuts
  const int groups = 32 / across, group = lane_id() / across, lane = lane_id() % across;
  const auto read = rows_of_x.of(lane, across);
  const std::int64_t segments = last.row - first.row + (last.entry > a.rowptr[last.row] ? 1 : 0);

  const auto finish = [&](index_t row, O begin, O end, bool from_start, const T(&sum)[count]) {
    const bool whole = from_start && end == a.rowptr[row + 1];
    T* to = nullptr;
    if (!whole)
      to = from_start ? parts.before((w + pieces.per_slot) / pieces.per_slot) : parts.behind(w / pieces.per_slot);
    if constexpr (Rows::aligned) {
      if (whole && store.wide) {
        const index_t column = Rows::column(lane, across, 0);
        if (column < rows_of_x.columns) store.store_wide(row, column, sum);
        return;
      }
    }
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const index_t column = Rows::column(lane, across, i);
      if (column >= rows_of_x.columns) continue;
      if (whole) {
        store(row, column, sum[i]);
      } else {
        to[column] = sum[i];
      }
    }
  };

  for (std::int64_t base = 0; base < segments; base += groups) {
    const bool there = base + group < segments;
    const index_t row = first.row + static_cast<index_t>(base) + group;
    O begin = 0, end = 0;
    bool from_start = true;
    if (there) {
      begin = a.rowptr[row];
      end = a.rowptr[row + 1];
      if (base + group == 0 && first.entry > begin) begin = first.entry, from_start = false;
      if (row == last.row) end = last.entry;
    }
    const bool by_all = end - begin > alone;
    T sum[count] = {};
    if (!by_all) {
      add_entries<Flight>(entries(a, begin, end), 1, read, sum);
      if (there) finish(row, begin, end, from_start, sum);
    }
    unsigned long_rows = __ballot_sync(full_warp, by_all && lane == 0);
    while (long_rows != 0) {
      const int leader = __ffs(static_cast<int>(long_rows)) - 1;
      long_rows &= long_rows - 1;
      const O from = __shfl_sync(full_warp, begin, leader), to = __shfl_sync(full_warp, end, leader);
      T share[count] = {};
      add_entries<Flight>(entries(a, from, to, group), groups, read, share);
#pragma unroll
      for (int i = 0; i < count; ++i) {
        for (int d = across; d < 32; d *= 2) share[i] = add(share[i], __shfl_xor_sync(full_warp, share[i], d));
      }
      if (group == leader / across) finish(row, from, to, from_start, share);
    }
    __syncwarp();
  }
}

/// A block adds the parts of a cut row: thread = (part) * width + (column).
template <class T, class O>
__global__ void __launch_bounds__(256)
    cut_rows_kernel(row_pieces_view<O> pieces, part_sums<T> parts, int width, scale_and_store_many<T> store) {
  __shared__ T shared[256];
  const int column = static_cast<int>(threadIdx.x) % width, begin = static_cast<int>(threadIdx.x) / width;
  const int step = 256 / width;
  const bool live = column < parts.columns;
  for (int i = static_cast<int>(blockIdx.x); i < *pieces.cuts; i += static_cast<int>(gridDim.x)) {
    const cut_row cut = pieces.cut[i];
    T sum{0};
    if (live) {
      if (begin == 0) sum = parts.before(cut.first)[column];
#pragma unroll 8
      for (int s = cut.first + begin; s <= cut.last; s += step) sum = add(sum, parts.behind(s)[column]);
    }
    shared[threadIdx.x] = sum;
    __syncthreads();
    if (begin == 0 && live) {
      for (int j = 1; j < step; ++j) sum = add(sum, shared[j * width + column]);
      store(cut.row, column, sum);
    }
    __syncthreads();
  }
}

}  // namespace tulle::cuda
