// Values of the wide rows where the rows of B are long: a block makes up to 1024 or 4096 neighbouring entries of C,
// whose sums lie in shared memory. Every warp owns a share of them and takes from each row of B the columns between its
// first and its last, by a search, one row of B after the other (value_walk.cuh): the sums have the order of A's
// entries, and no warp waits for another. One thread: four products at a time. Bytes per product: 4 + sizeof(T),
// through L1 and L2.
#include <cooperative_groups.h>

#include "cuda/spgemm/column_places.cuh"
#include "cuda/spgemm/value_walk.cuh"
#include "cuda/spgemm/wide_part.cuh"

namespace tulle::cuda {
namespace {

template <int Threads, int Chunk, class T, class O>
struct owned_space {
  T sum[Chunk];
  column_places<Chunk> places;
  held_row<T, O> rows[Threads];  // 32 per warp
};

template <class Space>
struct owned_sums {
  Space& space;
  const decltype(Space::places)::map_type& map;

  __device__ __forceinline__ int place(index_t column) const { return space.places.template find<false>(map, column); }
  template <class T>
  __device__ __forceinline__ void add(int at, T product) {
    space.sum[at] += product;
  }
};

template <int Threads, int Chunk, class T, class O>
__global__ void __launch_bounds__(Threads, 1024 / Threads)
    owned_values_kernel(product_pattern<O> m, product_values<T, O> v, wide_tasks tasks, kinds_of_tasks kinds) {
  extern __shared__ __align__(16) unsigned char shared[];
  using space_type = owned_space<Threads, Chunk, T, O>;
  auto& space = *reinterpret_cast<space_type*>(shared);
  const wide_part part(tasks, kinds, v.c_rowptr, v.c_colind);
  if (part.count == 0) return;
  const column_map<Chunk> map(part.first, part.last);
  for (int i = static_cast<int>(threadIdx.x); i < part.count; i += Threads) space.sum[i] = 0;
  space.places.index(cooperative_groups::this_thread_block(), map, v.c_colind + part.to, part.count);
  const int warp = static_cast<int>(threadIdx.x) / 32, share = (part.count + Threads / 32 - 1) / (Threads / 32);
  const int begin = warp * share, end = min(begin + share, part.count);
  if (begin >= end) return;
  const column_range<true> own{v.c_colind[part.to + begin], v.c_colind[part.to + end - 1]};
  owned_sums<space_type> sums{space, map};
  walk_values<32, true, true>(m, v.a, v.b, m.a_rowptr[part.row], m.a_rowptr[part.row + 1], own, sums,
                              space.rows + warp * 32);
  __syncwarp();
  for (int i = begin + lane_id(); i < end; i += 32) v.c[part.to + i] = v.alpha * space.sum[i];
}

}  // namespace

void fill_from_long_rows(const product_fill& to, const wide_tasks& tasks) {
  to.run([&]<class T, class O>(const product_pattern<O>& m, const product_values<T, O>& v) {
    run_tasks(
        task_kernel{owned_values_kernel<128, narrow_chunk, T, O>, 128, sizeof(owned_space<128, narrow_chunk, T, O>)},
        task_kernel{owned_values_kernel<256, wide_chunk, T, O>, 256, sizeof(owned_space<256, wide_chunk, T, O>)}, m, v,
        tasks, to.stream);
  });
}

}  // namespace tulle::cuda
