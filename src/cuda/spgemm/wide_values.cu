// Values of the wide rows where the rows of B are short: a block makes up to 1024 or 4096 neighbouring entries of C,
// whose sums lie in shared memory, and takes from each row of B the columns between its first and its last (by a
// search, where a row of C has several such parts). The products are read, multiplied and placed by all warps at once,
// in the order of A's entries (product_batch), then added by one warp after the other, so that every sum has that
// order; no atomics. One thread: four products at a time. Bytes per product: 4 + sizeof(T), through L1 and L2.
#include <cooperative_groups.h>

#include "cuda/device/arithmetic.cuh"
#include "cuda/spgemm/column_places.cuh"
#include "cuda/spgemm/column_search.cuh"
#include "cuda/spgemm/product_batch.cuh"
#include "cuda/spgemm/wide_part.cuh"

namespace tulle::cuda {
namespace {

constexpr int depth = 4;  // products that a thread has in flight

template <int Threads, int Chunk, class T, class O>
struct wide_space {
  T sum[Chunk];
  T factor[Threads];  // of the pieces of the batch
  product_batch<Threads, Chunk, O> batch;
  column_places<Chunk> places;
};

/// What a thread has of the products: where they go (-1: nowhere), and after how many others of the same 32 that go to
/// the same place.
template <class T>
struct placed_products {
  T product[depth];
  int place[depth];
  int rank[depth];
  int last_rank[depth];  // of the warp

  __device__ __forceinline__ void add_to(T* sum) const {
#pragma unroll
    for (int u = 0; u < depth; ++u) {
#pragma unroll 1
      for (int now = 0; now <= last_rank[u]; ++now) {
        if (place[u] >= 0 && rank[u] == now) sum[place[u]] += product[u];
        __syncwarp();
      }
    }
  }
};

/// Reads 32 * depth products from `first` on. All lanes of the warp call it.
template <class T, class Space, class O, int Chunk>
__device__ __forceinline__ placed_products<T> read_products(const product_pattern<O>& m, const T* b, const Space& space,
                                                            const column_map<Chunk>& map, int first) {
  placed_products<T> mine;
  index_t column[depth];
  T value[depth], factor[depth];
  bool several[depth];
  space.batch.template walk<depth>(first, [&](int u, int piece, O position, bool real, bool more) {
    column[u] = real ? __ldg(m.b_colind + position) : -1;
    value[u] = real ? __ldg(b + position) : T{0};
    factor[u] = space.factor[piece];
    several[u] = more;
  });
#pragma unroll
  for (int u = 0; u < depth; ++u) {
    mine.place[u] = column[u] >= 0 ? space.places.template find<false>(map, column[u]) : -1;
    mine.product[u] = rounded_product(factor[u], value[u]);
    mine.rank[u] = mine.last_rank[u] = 0;
    if (several[u]) {
      mine.rank[u] = __popc(__match_any_sync(full_warp, mine.place[u]) & lanes_before());
      mine.last_rank[u] = warp_max(mine.place[u] >= 0 ? mine.rank[u] : 0);
    }
  }
  return mine;
}

/// Adds the products of the batch.
template <int Threads, int Chunk, class T, class O>
__device__ void add_products(const product_pattern<O>& m, const T* b, wide_space<Threads, Chunk, T, O>& space,
                             const column_map<Chunk>& map) {
  constexpr int share = 32 * depth, warps = Threads / 32;
  const int warp = static_cast<int>(threadIdx.x) / 32, all = space.batch.products();
  for (int base = 0; base < all; base += warps * share) {
    const int active = min(warps, (all - base + share - 1) / share);
    placed_products<T> mine;
    if (warp < active) mine = read_products<T>(m, b, space, map, base + warp * share);
    for (int adding = 0; adding < active; ++adding) {
      if (adding == warp) mine.add_to(space.sum);
      __syncthreads();
    }
  }
}

template <int Threads, int Chunk, class T, class O>
__global__ void __launch_bounds__(Threads, 1024 / Threads)
    wide_values_kernel(product_pattern<O> m, product_values<T, O> v, wide_tasks tasks, kinds_of_tasks kinds) {
  extern __shared__ __align__(16) unsigned char shared[];
  auto& space = *reinterpret_cast<wide_space<Threads, Chunk, T, O>*>(shared);
  const wide_part part(tasks, kinds, v.c_rowptr, v.c_colind);
  if (part.count == 0) return;
  const column_map<Chunk> map(part.first, part.last);
  for (int i = static_cast<int>(threadIdx.x); i < part.count; i += Threads) space.sum[i] = 0;
  space.places.index(cooperative_groups::this_thread_block(), map, v.c_colind + part.to, part.count);
  const std::int64_t a_end = m.a_rowptr[part.row + 1];
  for (std::int64_t base = m.a_rowptr[part.row]; base < a_end; base += Threads) {
    const std::int64_t k = base + threadIdx.x;
    O start = 0, stop = 0;
    T factor = 0;
    if (k < a_end) {
      const index_t inner = __ldg(m.a_colind + k);
      start = __ldg(m.b_rowptr + inner);
      stop = __ldg(m.b_rowptr + inner + 1);
      factor = __ldg(v.a + k);
      if (!part.whole) lower_bounds(m.b_colind, start, stop, part.first, part.last + 1, start, stop);
    }
    const int at = space.batch.put(start, stop);
    if (at >= 0) space.factor[at] = factor;
    __syncthreads();
    add_products(m, v.b, space, map);
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < part.count; i += Threads) v.c[part.to + i] = v.alpha * space.sum[i];
}

}  // namespace

void fill_from_short_rows(const product_fill& to, const wide_tasks& tasks) {
  to.run([&]<class T, class O>(const product_pattern<O>& m, const product_values<T, O>& v) {
    run_tasks(
        task_kernel{wide_values_kernel<128, narrow_chunk, T, O>, 128, sizeof(wide_space<128, narrow_chunk, T, O>)},
        task_kernel{wide_values_kernel<256, wide_chunk, T, O>, 256, sizeof(wide_space<256, wide_chunk, T, O>)}, m, v,
        tasks, to.stream);
  });
}

}  // namespace tulle::cuda
