// Where a column stands among up to `Most` ascending columns, in shared memory that a warp or a block owns: a bit count
// in a bitmap (bitmap-rank) where they span few columns, else a search among the few columns of its bucket.
#pragma once

#include "cuda/spgemm/product_rows.cuh"

namespace tulle::cuda {

/// How columns are found: by word of a bitmap, or by bucket of 2^shift columns.
template <int Buckets>
struct column_map {
  index_t origin;
  int shift;
  bool bitmap;

  __device__ column_map(index_t first, index_t last) : origin(first / 32 * 32), shift(5) {
    const auto span = static_cast<unsigned>(last - origin);
    bitmap = span / 32 < Buckets;
    while (span >> shift >= Buckets) ++shift;
  }
  __device__ unsigned bucket(index_t column) const { return static_cast<unsigned>(column - origin) >> shift; }
};

template <int Most>
struct column_places {
  using map_type = column_map<Most>;

  unsigned words[Most];           // the bitmap's masks, or the columns
  std::uint16_t begin[Most + 2];  // place of the first column of a word or bucket

  static constexpr int depth = 4;  // columns that a thread has in flight

  /// All threads of the owner, a cooperative group; `columns` lie in C or in a mask.
  template <class Group>
  __device__ void index(const Group& owner, const map_type& map, const index_t* columns, int count) {
    const int threads = static_cast<int>(owner.num_threads()), rank = static_cast<int>(owner.thread_rank());
    if (map.bitmap) {
      for (unsigned b = rank; b <= map.bucket(columns[count - 1]); b += threads) words[b] = 0;
      owner.sync();
    }
    for (int base = rank; base < count; base += depth * threads) {
      index_t column[depth], before[depth];
#pragma unroll
      for (int u = 0; u < depth; ++u) {
        const int i = base + u * threads;
        column[u] = i < count ? __ldg(columns + i) : 0;
        before[u] = i < count && i > 0 ? __ldg(columns + i - 1) : 0;
      }
#pragma unroll
      for (int u = 0; u < depth; ++u) {
        if (base + u * threads < count) place(map, base + u * threads, count, column[u], before[u]);
      }
    }
    owner.sync();
  }

  /// Place of a column between the first and the last of them; -1 where it is not among them, if Check.
  template <bool Check>
  __device__ __forceinline__ int find(const map_type& map, index_t column) const {
    const unsigned b = map.bucket(column);
    int at = begin[b];
    if (map.bitmap) {
      const unsigned bit = 1u << column % 32;
      if (Check && (words[b] & bit) == 0) return -1;
      return at + __popc(words[b] & (bit - 1));
    }
    const int last = begin[b + 1];
    for (int end = last; at < end;) {
      const int middle = (at + end) / 2;
      if (words[middle] < static_cast<unsigned>(column)) {
        at = middle + 1;
      } else {
        end = middle;
      }
    }
    return !Check || (at < last && words[at] == static_cast<unsigned>(column)) ? at : -1;
  }

 private:
  /// The i-th of `count` columns, and the one before it, if any.
  __device__ __forceinline__ void place(const map_type& map, int i, int count, index_t column, index_t before) {
    const unsigned b = map.bucket(column);
    // Empty buckets before this one begin where it begins.
    for (unsigned from = i == 0 ? 0 : map.bucket(before) + 1; from <= b; ++from) {
      begin[from] = static_cast<std::uint16_t>(i);
    }
    if (i == count - 1) begin[b + 1] = static_cast<std::uint16_t>(count);
    if (map.bitmap) {
      atomicOr(words + b, 1u << column % 32);
    } else {
      words[i] = static_cast<unsigned>(column);
    }
  }
};

}  // namespace tulle::cuda
