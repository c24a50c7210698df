// Values of the rows whose entries are many or far apart: a block makes up to 1024 or 4096 neighbouring entries of C,
// whose sums lie in shared memory, and takes from each row of B the columns between its first and its last (by a
// search, where a row of C has several such parts). The products are read, multiplied and placed by all warps at once,
// in the order of A's entries (product_batch.cuh), then added by the warps in turn, so that every sum has that order;
// no atomics. One thread: four products at a time. Bytes a product: 4 + sizeof(T), through L1 and L2.
#include <cooperative_groups.h>

#include "cuda/device/arithmetic.cuh"
#include "cuda/runtime/check.hpp"
#include "cuda/spgemm/column_places.cuh"
#include "cuda/spgemm/column_search.cuh"
#include "cuda/spgemm/product_batch.cuh"
#include "cuda/spgemm/wide_rows.hpp"

namespace tulle::cuda {
namespace {

constexpr int depth = 4;  // products that a thread has in flight
constexpr int cut_block = 256;

__host__ __device__ constexpr std::int64_t parts_of(std::int64_t entries, std::int64_t chunk) {
  return (entries + chunk - 1) / chunk;
}

/// Places for `mine` tasks of each lane among those that `count` counts. All lanes call it.
__device__ std::int64_t claim(std::int64_t mine, unsigned long long* count) {
  const std::int64_t after = sum_up_to(mine);
  unsigned long long first = 0;
  if (lane_id() == 31 && after > 0) first = atomicAdd(count, static_cast<unsigned long long>(after));
  return static_cast<std::int64_t>(__shfl_sync(full_warp, first, 31)) + after - mine;
}

/// One thread a row: its tasks, in any order among the rows.
template <class O>
__global__ void __launch_bounds__(cut_block) cut_kernel(row_list list, const O* c_rowptr, wide_tasks tasks) {
  const std::int64_t i = std::int64_t{blockIdx.x} * cut_block + threadIdx.x;
  const bool real = i < list.count();
  const index_t row = real ? list[static_cast<index_t>(i)] : 0;
  const std::int64_t entries = real ? c_rowptr[row + 1] - c_rowptr[row] : 0;
  const std::int64_t parts = parts_of(entries, tasks.chunk);
  const bool is_short = parts == 1 && entries <= narrow_chunk, is_long = parts == 1 && !is_short;
  const std::int64_t of_short = claim(is_short ? 1 : 0, tasks.count + wide_tasks::short_rows);
  const std::int64_t of_long = claim(is_long ? 1 : 0, tasks.count + wide_tasks::long_rows);
  const std::int64_t of_parts = claim(parts > 1 ? parts : 0, tasks.count + wide_tasks::row_parts);
  if (is_short) *tasks.at(wide_tasks::short_rows, of_short) = {row, 0};
  if (is_long) *tasks.at(wide_tasks::long_rows, of_long) = {row, 0};
  for (std::int64_t part = 0; part < parts && parts > 1; ++part) {
    *tasks.at(wide_tasks::row_parts, of_parts + part) = {row, static_cast<index_t>(part)};
  }
}

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
    for (int turn = 0; turn < active; ++turn) {
      if (turn == warp) mine.add_to(space.sum);
      __syncthreads();
    }
  }
}

template <int Threads, int Chunk, class T, class O>
__global__ void __launch_bounds__(Threads, 1024 / Threads)
    wide_values_kernel(product_pattern<O> m, product_values<T, O> v, wide_tasks tasks, wide_tasks::kind kind) {
  extern __shared__ __align__(16) unsigned char shared[];
  auto& space = *reinterpret_cast<wide_space<Threads, Chunk, T, O>*>(shared);
  if (blockIdx.x >= tasks.count[kind]) return;
  const auto [row, part] = *tasks.at(kind, blockIdx.x);
  const std::int64_t begin = v.c_rowptr[row], entries = v.c_rowptr[row + 1] - begin;
  const std::int64_t parts = parts_of(entries, tasks.chunk), share = parts_of(entries, parts);
  const std::int64_t to = begin + part * share;
  const int count = static_cast<int>(min(share, begin + entries - to));
  if (count <= 0) return;  // of a row with millions of entries, where shares are rounded up
  const index_t first = v.c_colind[to], last = v.c_colind[to + count - 1];
  const column_map<Chunk> map(first, last);
  for (int i = static_cast<int>(threadIdx.x); i < count; i += Threads) space.sum[i] = 0;
  space.places.index(cooperative_groups::this_thread_block(), map, v.c_colind + to, count);
  const std::int64_t a_end = m.a_rowptr[row + 1];
  for (std::int64_t base = m.a_rowptr[row]; base < a_end; base += Threads) {
    const std::int64_t k = base + threadIdx.x;
    O start = 0, stop = 0;
    T factor = 0;
    if (k < a_end) {
      const index_t inner = __ldg(m.a_colind + k);
      start = __ldg(m.b_rowptr + inner);
      stop = __ldg(m.b_rowptr + inner + 1);
      factor = __ldg(v.a + k);
      if (parts > 1) lower_bounds(m.b_colind, start, stop, first, last + 1, start, stop);
    }
    const int at = space.batch.put(start, stop);
    if (at >= 0) space.factor[at] = factor;
    __syncthreads();
    add_products(m, v.b, space, map);
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < count; i += Threads) v.c[to + i] = v.alpha * space.sum[i];
}

template <int Threads, int Chunk, class T, class O>
void run_values(const product_pattern<O>& m, const product_values<T, O>& v, const wide_tasks& tasks,
                wide_tasks::kind kind, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(tasks.most(kind));
  if (blocks == 0) return;
  const auto kernel = wide_values_kernel<Threads, Chunk, T, O>;
  constexpr int bytes = sizeof(wide_space<Threads, Chunk, T, O>);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "cudaFuncSetAttribute");
  kernel<<<blocks, Threads, bytes, stream>>>(m, v, tasks, kind);
  check_launch("spgemm: fill_wide_values");
}

}  // namespace

template <class O>
void cut_wide_rows(const row_list& list, const O* c_rowptr, const wide_tasks& tasks, cudaStream_t stream) {
  if (list.most == 0) return;
  cut_kernel<O><<<static_cast<unsigned>((std::int64_t{list.most} + cut_block - 1) / cut_block), cut_block, 0, stream>>>(
      list, c_rowptr, tasks);
  check_launch("spgemm: cut_wide_rows");
}

template <class T, class O>
void fill_wide_values(const product_pattern<O>& m, const product_values<T, O>& v, const wide_tasks& tasks,
                      cudaStream_t stream) {
  run_values<256, wide_chunk>(m, v, tasks, wide_tasks::row_parts, stream);  // those that take longest first
  run_values<256, wide_chunk>(m, v, tasks, wide_tasks::long_rows, stream);
  run_values<128, narrow_chunk>(m, v, tasks, wide_tasks::short_rows, stream);
}

template void cut_wide_rows(const row_list&, const std::int32_t*, const wide_tasks&, cudaStream_t);
template void cut_wide_rows(const row_list&, const std::int64_t*, const wide_tasks&, cudaStream_t);

#define TULLE_INSTANTIATE(T, O)                                                                             \
  template void fill_wide_values(const product_pattern<O>&, const product_values<T, O>&, const wide_tasks&, \
                                 cudaStream_t);
TULLE_INSTANTIATE(float, std::int32_t)
TULLE_INSTANTIATE(float, std::int64_t)
TULLE_INSTANTIATE(double, std::int32_t)
TULLE_INSTANTIATE(double, std::int64_t)
#undef TULLE_INSTANTIATE

}  // namespace tulle::cuda
