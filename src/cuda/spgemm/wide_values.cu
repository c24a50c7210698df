// Values of the wide rows where the rows of B are short: a block makes up to 1024 or 4096 neighbouring entries of C,
// whose sums lie in shared memory, and takes from each row of B the columns between its first and its last (by a
// search, where a row of C has several such parts). The products are read, multiplied and placed by all warps at once,
// in the order of A's entries (product_batch), then added by one warp after the other, so that every sum has that
// order; no atomics. One thread: four products at a time. Bytes per product: 4 + sizeof(T), through L1 and L2.
#include <cooperative_groups.h>

#include "cuda/device/arithmetic.cuh"
#include "cuda/spgemm/column_places.cuh"
#include "cuda/spgemm/column_search.cuh"
#include "cuda/spgemm/wide_part.cuh"

namespace tulle::cuda {
namespace {

constexpr int depth = 4;  // products that a thread has in flight

/// The products of a stretch of a row of A, laid end to end, so that a block takes them in order and evenly: 32
/// neighbours a warp at a time, whatever the lengths of the rows of B are.
/// In shared memory. A piece is what an entry of A asks for of B: a part of a row, of at most Longest entries.
template <int Threads, int Longest, class O>
struct product_batch {
  static constexpr int warps = Threads / 32;

  O start[Threads];                         // of the pieces that are not empty, in B
  int before[Threads + 1];                  // products before each of them; then all
  alignas(16) int products_of_warp[warps];  // read four at a time, and no neighbour that is being written with them
  alignas(16) int pieces_of_warp[warps];
  int pieces;

  __device__ int products() const { return before[pieces]; }

  /// Each thread gives its piece, in order. Returns the piece's place among those not empty; -1 if it is. All threads
  /// call it, and __syncthreads before they read; they may be through with the batch before at different times.
  __device__ int put(O first, O last) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int length = first < last ? static_cast<int>(min(last - first, O{Longest})) : 0;
    const int after = warp_inclusive_sum(length);
    const unsigned real = __ballot_sync(full_warp, length > 0);
    if (lane_id() == 31) {
      products_of_warp[warp] = after;
      pieces_of_warp[warp] = __popc(real);
    }
    __syncthreads();
    int at = __popc(real & lanes_before()), sum = after - length;
    for (int w = 0; w < warp; ++w) {
      at += pieces_of_warp[w];
      sum += products_of_warp[w];
    }
    if (length > 0) {
      start[at] = first;
      before[at] = sum;
    }
    if (threadIdx.x == Threads - 1) {
      pieces = at + (length > 0 ? 1 : 0);
      before[pieces] = sum + length;
    }
    return length > 0 ? at : -1;
  }

  /// Calls visit(u, piece, its position in B, whether there is such a product, whether the 32 lanes see several pieces)
  /// for the lane's u-th of Depth * 32 neighbouring products from `first` on. All lanes of the warp call it; `first` is
  /// one of the products.
  template <int Depth, class Visit>
  __device__ __forceinline__ void walk(int first, Visit visit) const {
    int piece = 0;  // of the product `here`: the last that begins at or before it
    for (int end = pieces; piece + 1 < end;) {
      const int middle = (piece + end) / 2;
      (before[middle] <= first ? piece : end) = middle;
    }
    const int all = products();
#pragma unroll
    for (int u = 0; u < Depth; ++u) {
      const int here = first + 32 * u, mine = here + lane_id(), next = piece + 1 + lane_id();
      const unsigned ahead = next < pieces ? static_cast<unsigned>(before[next] - here) : 33u;
      const unsigned heads = warp_or(ahead < 32 ? 1u << ahead : 0);
      const int own = piece + __popc(heads & (lanes_before() << 1 | 1));
      visit(u, own, start[own] + static_cast<O>(mine - before[own]), mine < all, heads != 0);
      piece += __popc(heads);
      if (__any_sync(full_warp, ahead == 32)) ++piece;
    }
  }
};

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
