// How lanes walk the entries of a row for several right-hand sides, add up what they have and store it.
#pragma once

#include "cuda/device/warp.cuh"
#include "cuda/spmv/many_vectors.cuh"

namespace tulle::cuda {

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
  [[nodiscard]] __device__ __forceinline__ bool has(int i) const { return i < left; }
};

/// Adds to a lane's sums every `step`-th entry, `Flight` rows of X at a time. Where fewer are left, a lane with 16
/// bytes of f64 reads its first one again: without branches its reads stay together (H200, 8 columns: 15 to 25% less
/// time; others take 2 to 4% more).
template <int Flight, class Rows, class T, class O>
__device__ __forceinline__ void add_entries(entries<T, O> e, int step, const typename Rows::reader& read,
                                            T (&sum)[Rows::count]) {
  constexpr bool reads_again = Rows::aligned && sizeof(T) == 8;
  for (; e.left > 0; e.advance(step * Flight)) {
    index_t column[Flight];
    T value[Flight], x[Flight][Rows::count];
#pragma unroll
    for (int f = 0; f < Flight; ++f) {
      const int i = f * step;
      if constexpr (reads_again) {
        const int at = e.has(i) ? i : 0;
        column[f] = __ldg(e.column + at);
        value[f] = __ldg(e.value + at);
      } else {
        column[f] = e.has(i) ? __ldg(e.column + i) : -1;
        value[f] = e.has(i) ? __ldg(e.value + i) : T{0};
      }
    }
#pragma unroll
    for (int f = 0; f < Flight; ++f) {
      if (reads_again || column[f] >= 0) read(column[f], x[f]);
    }
#pragma unroll
    for (int f = 0; f < Flight; ++f) {
      if (!reads_again && column[f] < 0) continue;
#pragma unroll
      for (int i = 0; i < Rows::count; ++i) {
        const T with = multiply_add(value[f], x[f][i], sum[i]);
        sum[i] = reads_again && !e.has(f * step) ? sum[i] : with;
      }
    }
  }
}

/// Over lanes that differ in the bits from `across` up to below `lanes`.
template <class T, int Count>
__device__ __forceinline__ void add_lanes(T (&sum)[Count], int across, int lanes) {
  for (int d = across; d < lanes; d *= 2) {
#pragma unroll
    for (int i = 0; i < Count; ++i) sum[i] = add(sum[i], __shfl_xor_sync(full_warp, sum[i], d));
  }
}

/// Stores a lane's sums of a row: of those columns from `column0` on that are its own and below `columns`.
template <class Rows, class T>
__device__ __forceinline__ void store_columns(const scale_and_store_many<T>& store, index_t row, index_t column0,
                                              index_t columns, int lane, int across, const T (&sum)[Rows::count]) {
  if constexpr (Rows::aligned) {
    if (store.wide) {
      const index_t column = column0 + Rows::column(lane, across, 0);
      if (column < columns) store.store_wide(row, column, sum);
      return;
    }
  }
#pragma unroll
  for (int i = 0; i < Rows::count; ++i) {
    const index_t column = column0 + Rows::column(lane, across, i);
    if (column < columns) store(row, column, sum[i]);
  }
}

}  // namespace tulle::cuda
