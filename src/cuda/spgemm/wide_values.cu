// Values of the rows whose entries are many or far apart: a warp makes up to 2048 neighbouring entries of C, of which it owns
// the sums in shared memory, and takes from each row of B the columns between its first and its last (by a search, where a
// row of C has several such chunks): blocks that own disjoint column ranges, without atomics. A column's place is a bit count
// in a bitmap (bitmap-rank) where the chunk spans up to 65536 columns, else a search among the few columns of its bucket.
// One thread: a product at a time. Bytes a product: 4 + sizeof(T), through L1 and L2.
#include <algorithm>

#include "cuda/runtime/check.hpp"
#include "cuda/spgemm/value_walk.cuh"
#include "cuda/spgemm/wide_rows.hpp"

namespace tulle::cuda {
namespace {

constexpr int buckets = 2048;

/// Place of a column among the columns of a chunk.
struct column_places {
  unsigned words[buckets];            // bitmap: masks; else the columns themselves
  std::uint16_t begin[buckets + 2];   // place of the first column of a word or bucket
  static_assert(wide_chunk <= buckets);

  __device__ index_t* columns() { return reinterpret_cast<index_t*>(words); }
};

/// How columns are found: by word of a bitmap, or by bucket of 2^shift columns.
struct column_map {
  index_t origin;
  int shift;  // 5: bitmap
  bool bitmap;

  __device__ column_map(index_t first, index_t last) {
    origin = first / 32 * 32;
    const auto span = static_cast<unsigned>(last - origin);
    bitmap = span / 32 < buckets;
    shift = 5;
    while (span >> shift >= buckets) ++shift;
  }
  __device__ unsigned bucket(index_t column) const { return static_cast<unsigned>(column - origin) >> shift; }
};

template <class T>
struct chunk_space {
  T sum[wide_chunk];
  column_places places;
};

template <class T>
struct chunk_sums {
  chunk_space<T>& space;
  column_map map;

  __device__ __forceinline__ int place(index_t column) const {
    const unsigned b = map.bucket(column);
    int at = space.places.begin[b];
    if (map.bitmap) return at + __popc(space.places.words[b] & ((1u << column % 32) - 1));
    const index_t* columns = space.places.columns();
    for (int end = space.places.begin[b + 1]; at < end;) {
      const int middle = (at + end) / 2;
      if (columns[middle] < column) {
        at = middle + 1;
      } else {
        end = middle;
      }
    }
    return at;
  }
  __device__ __forceinline__ void add(int at, T product) { space.sum[at] += product; }

  __device__ void index(const index_t* columns, int count) {
    for (int i = lane_id(); i < count; i += 32) space.sum[i] = 0;
    if (map.bitmap) {
      for (unsigned b = lane_id(); b <= map.bucket(columns[count - 1]); b += 32) space.places.words[b] = 0;
      __syncwarp();
    }
    for (int i = lane_id(); i < count; i += 32) {
      const index_t column = columns[i];
      const unsigned b = map.bucket(column);
      // Empty buckets before this one begin where it begins.
      unsigned from = i == 0 ? 0 : map.bucket(columns[i - 1]) + 1;
      for (; from <= b; ++from) space.places.begin[from] = static_cast<std::uint16_t>(i);
      if (i == count - 1) space.places.begin[b + 1] = static_cast<std::uint16_t>(count);
      if (map.bitmap) {
        atomicOr(space.places.words + b, 1u << column % 32);
      } else {
        space.places.columns()[i] = column;
      }
    }
    __syncwarp();
  }
};

template <int Lanes, class T, class O>
__global__ void __launch_bounds__(32)
    wide_values_kernel(product_pattern<O> m, product_values<T, O> v, row_list list, const std::int64_t* chunk_begin,
                       unsigned long long* next) {
  extern __shared__ __align__(16) unsigned char shared[];
  auto& space = *reinterpret_cast<chunk_space<T>*>(shared);
  const std::int64_t chunks = chunk_begin[list.most];
  while (true) {
    std::int64_t chunk = 0;
    if (lane_id() == 0) chunk = static_cast<std::int64_t>(atomicAdd(next, 1ull));
    chunk = __shfl_sync(full_warp, chunk, 0);
    if (chunk >= chunks) return;
    index_t low = 0, high = list.most;  // the row of the list: the last whose chunks begin at or before this one
    while (low + 1 < high) {
      const index_t middle = low + (high - low) / 2;
      (chunk_begin[middle] <= chunk ? low : high) = middle;
    }
    const index_t row = list[low];
    const auto parts = chunk_begin[low + 1] - chunk_begin[low], part = chunk - chunk_begin[low];
    const O begin = v.c_rowptr[row], entries = v.c_rowptr[row + 1] - begin;
    const O share = static_cast<O>((entries + parts - 1) / parts), offset = static_cast<O>(part) * share;
    const O to = begin + offset;
    const int count = static_cast<int>(min(share, entries - offset));
    if (count <= 0) continue;  // of a row with millions of entries, where shares are rounded up
    const index_t first = v.c_colind[to], last = v.c_colind[to + count - 1];
    chunk_sums<T> sums{space, column_map(first, last)};
    sums.index(v.c_colind + to, count);
    const O a_begin = m.a_rowptr[row], a_end = m.a_rowptr[row + 1];
    if (parts == 1) {
      walk_values<Lanes, false>(m, v.a, v.b, a_begin, a_end, column_range<false>{}, sums);
    } else {
      walk_values<Lanes, true>(m, v.a, v.b, a_begin, a_end, column_range<true>{first, last}, sums);
    }
    __syncwarp();
    for (int q = lane_id(); q < count; q += 32) v.c[to + q] = v.alpha * space.sum[q];
    __syncwarp();
  }
}

}  // namespace

template <class T, class O>
void fill_wide_values(const product_pattern<O>& m, const product_values<T, O>& v, bool short_rows, const row_list& list,
                      const std::int64_t* chunk_begin, unsigned long long* next, const wide_launch& device,
                      cudaStream_t stream) {
  if (list.most == 0) return;
  check(cudaMemsetAsync(next, 0, sizeof(*next), stream), "cudaMemsetAsync");
  const auto kernel = short_rows ? wide_values_kernel<8, T, O> : wide_values_kernel<32, T, O>;
  constexpr int bytes = sizeof(chunk_space<T>);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "cudaFuncSetAttribute");
  kernel<<<static_cast<unsigned>(device.multiprocessors) * 16, 32, bytes, stream>>>(m, v, list, chunk_begin, next);
  check_launch("spgemm: fill_wide_values");
}

template void fill_wide_values(const product_pattern<std::int32_t>&, const product_values<float, std::int32_t>&, bool, const row_list&, const std::int64_t*, unsigned long long*, const wide_launch&, cudaStream_t);
template void fill_wide_values(const product_pattern<std::int64_t>&, const product_values<float, std::int64_t>&, bool, const row_list&, const std::int64_t*, unsigned long long*, const wide_launch&, cudaStream_t);
template void fill_wide_values(const product_pattern<std::int32_t>&, const product_values<double, std::int32_t>&, bool, const row_list&, const std::int64_t*, unsigned long long*, const wide_launch&, cudaStream_t);
template void fill_wide_values(const product_pattern<std::int64_t>&, const product_values<double, std::int64_t>&, bool, const row_list&, const std::int64_t*, unsigned long long*, const wide_launch&, cudaStream_t);

}  // namespace tulle::cuda
