// Where a column stands among up to `Most` ascending columns, in shared memory that one warp owns: a bit count in a
// bitmap (bitmap-rank) where they span few columns, else a search among the few columns of its bucket.
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

  /// All lanes; `columns` lie in C or in a mask.
  __device__ void index(const map_type& map, const index_t* columns, int count) {
    if (map.bitmap) {
      for (unsigned b = lane_id(); b <= map.bucket(columns[count - 1]); b += 32) words[b] = 0;
      __syncwarp();
    }
    for (int i = lane_id(); i < count; i += 32) {
      const index_t column = columns[i];
      const unsigned b = map.bucket(column);
      // Empty buckets before this one begin where it begins.
      for (unsigned from = i == 0 ? 0 : map.bucket(columns[i - 1]) + 1; from <= b; ++from)
        begin[from] = static_cast<std::uint16_t>(i);
      if (i == count - 1) begin[b + 1] = static_cast<std::uint16_t>(count);
      if (map.bitmap) {
        atomicOr(words + b, 1u << column % 32);
      } else {
        words[i] = static_cast<unsigned>(column);
      }
    }
    __syncwarp();
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
};

}  // namespace tulle::cuda
