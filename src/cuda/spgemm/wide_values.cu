// Values of the rows whose entries are many or far apart: a warp makes up to 1024 neighbouring entries of C, of which
// it owns the sums in shared memory, and takes from each row of B the columns between its first and its last (by a
// search, where a row of C has several such chunks): blocks that own disjoint column ranges, without atomics
// (column_places.cuh). One thread: a product at a time. Bytes a product: 4 + sizeof(T), through L1 and L2.
#include <algorithm>

#include "cuda/runtime/check.hpp"
#include "cuda/spgemm/column_places.cuh"
#include "cuda/spgemm/value_walk.cuh"
#include "cuda/spgemm/wide_rows.hpp"

namespace tulle::cuda {
namespace {

template <class T>
struct chunk_space {
  T sum[wide_chunk];
  column_places<wide_chunk> places;
};

template <class T>
struct chunk_sums {
  chunk_space<T>& space;
  column_map<wide_chunk> map;

  __device__ __forceinline__ int place(index_t column) const { return space.places.template find<false>(map, column); }
  __device__ __forceinline__ void add(int at, T product) { space.sum[at] += product; }

  __device__ void index(const index_t* columns, int count) {
    for (int i = lane_id(); i < count; i += 32) space.sum[i] = 0;
    space.places.index(map, columns, count);
  }
};

/// Where the pieces of the rows of B that fall into a chunk are shorter than this on average, they are walked four at a
/// time.
constexpr float short_piece = 4;

template <class T, class O>
__global__ void __launch_bounds__(32)
    wide_values_kernel(product_pattern<O> m, product_values<T, O> v, float mean_b, row_list list,
                       const std::int64_t* chunk_begin, unsigned long long* next) {
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
    chunk_sums<T> sums{space, column_map<wide_chunk>(first, last)};
    sums.index(v.c_colind + to, count);
    const O a_begin = m.a_rowptr[row], a_end = m.a_rowptr[row + 1];
    if (mean_b <= short_piece * static_cast<float>(parts)) {
      walk_values<8, true, true>(m, v.a, v.b, a_begin, a_end, column_range<true>{first, last}, sums);
    } else if (parts > 1) {
      walk_values<32, true, true>(m, v.a, v.b, a_begin, a_end, column_range<true>{first, last}, sums);
    } else {
      walk_values<32, false, true>(m, v.a, v.b, a_begin, a_end, column_range<false>{}, sums);
    }
    __syncwarp();
    for (int q = lane_id(); q < count; q += 32) v.c[to + q] = v.alpha * space.sum[q];
    __syncwarp();
  }
}

}  // namespace

template <class T, class O>
void fill_wide_values(const product_pattern<O>& m, const product_values<T, O>& v, float mean_b, const row_list& list,
                      const std::int64_t* chunk_begin, unsigned long long* next, const wide_launch& device,
                      cudaStream_t stream) {
  if (list.most == 0) return;
  check(cudaMemsetAsync(next, 0, sizeof(*next), stream), "cudaMemsetAsync");
  const auto kernel = wide_values_kernel<T, O>;
  constexpr int bytes = sizeof(chunk_space<T>);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "cudaFuncSetAttribute");
  kernel<<<static_cast<unsigned>(device.multiprocessors) * 16, 32, bytes, stream>>>(m, v, mean_b, list, chunk_begin,
                                                                                    next);
  check_launch("spgemm: fill_wide_values");
}

template void fill_wide_values(const product_pattern<std::int32_t>&, const product_values<float, std::int32_t>&, float,
                               const row_list&, const std::int64_t*, unsigned long long*, const wide_launch&,
                               cudaStream_t);
template void fill_wide_values(const product_pattern<std::int64_t>&, const product_values<float, std::int64_t>&, float,
                               const row_list&, const std::int64_t*, unsigned long long*, const wide_launch&,
                               cudaStream_t);
template void fill_wide_values(const product_pattern<std::int32_t>&, const product_values<double, std::int32_t>&, float,
                               const row_list&, const std::int64_t*, unsigned long long*, const wide_launch&,
                               cudaStream_t);
template void fill_wide_values(const product_pattern<std::int64_t>&, const product_values<double, std::int64_t>&, float,
                               const row_list&, const std::int64_t*, unsigned long long*, const wide_launch&,
                               cudaStream_t);

}  // namespace tulle::cuda
