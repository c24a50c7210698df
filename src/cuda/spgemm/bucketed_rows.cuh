// Rows with more products than are sorted in registers, few of which share an entry of C: a block of threads for each.
// What counting (bucketed_count.cu) and filling (bucketed_fill.cu) share: how many products a row may have, and the
// walk over them.
#pragma once

#include "cuda/spgemm/product_batch.cuh"
#include "cuda/spgemm/row_kernels.hpp"

namespace tulle::cuda {

/// Threads of a block for rows of at most `most` products: eight or so of them each.
__host__ __device__ constexpr int bucketed_threads(int most) { return most / 8; }

/// The most products of a row of the c-th of the bucketed classes.
__host__ __device__ constexpr int most_bucketed(int c) {
  constexpr int of[] = {768, 1024, 2048, 4096};
  return of[c];
}

constexpr int bucketed_classes = static_cast<int>(std::extent_v<decltype(bucketed_lists::of)>);

/// Exclusive sum over the threads of a block, and the sum of all. `shared`: a number for each warp. Waits for all
/// threads, twice.
__device__ __forceinline__ int block_sum_before(int mine, int* shared, int& all) {
  const int sum = warp_inclusive_sum(mine), warp = static_cast<int>(threadIdx.x) / 32;
  if (lane_id() == 31) shared[warp] = sum;
  __syncthreads();
  int before = 0;
  all = 0;
  for (int w = 0; w < static_cast<int>(blockDim.x) / 32; ++w) {
    before += w < warp ? shared[w] : 0;
    all += shared[w];
  }
  __syncthreads();
  return before + sum - mine;
}

/// As many entries of A as a block has threads: the rows of B that they ask for, but for empty ones.
template <class T, class O>
struct entry_batch {
  O* start;     // in B
  int* before;  // products before each; then all
  T* factor;    // the entry of A

  /// In memory for `threads` entries, aligned for T.
  __device__ entry_batch(void* memory, int threads)
      : start(reinterpret_cast<O*>(static_cast<T*>(memory) + threads)),
        before(reinterpret_cast<int*>(start + threads)),
        factor(static_cast<T*>(memory)) {}
  static constexpr std::size_t bytes(int threads) {
    return static_cast<std::size_t>(threads) * (sizeof(T) + sizeof(O) + sizeof(int)) + sizeof(int);
  }
};

/// Products that a thread has in flight.
constexpr int bucketed_depth = 4;

/// Lays the products of a row end to end: load(u, position in B) and then store(u, factor, place) for each, as many
/// entries of A at a time as the block has threads, in even shares. factor(position in A): what goes with an entry.
/// shared: a number for each warp. Returns the number of products.
template <class T, class O, class Factor, class Load, class Store>
__device__ __forceinline__ int walk_row(const product_pattern<O>& m, index_t row, const entry_batch<T, O>& batch,
                                        int* shared, Factor factor, Load load, Store store) {
  constexpr int depth = bucketed_depth, share = 32 * depth;
  constexpr int one_piece = 1 << 16;  // more than a row has products, so that one sum counts both
  const int threads = static_cast<int>(blockDim.x), warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t end = m.a_rowptr[row + 1];
  int placed = 0;
  for (std::int64_t base = m.a_rowptr[row]; base < end; base += threads) {
    const std::int64_t k = base + threadIdx.x;
    O start = 0;
    int length = 0;
    if (k < end) {
      const index_t inner = __ldg(m.a_colind + k);
      start = __ldg(m.b_rowptr + inner);
      length = static_cast<int>(__ldg(m.b_rowptr + inner + 1) - start);
    }
    int all;
    const int earlier = block_sum_before(length > 0 ? length + one_piece : 0, shared, all);
    const int pieces = all / one_piece, products = all % one_piece;
    if (length > 0) {
      const int at = earlier / one_piece;
      batch.start[at] = start;
      batch.before[at] = earlier % one_piece;
      batch.factor[at] = factor(static_cast<O>(k));
    }
    if (threadIdx.x == 0) batch.before[pieces] = products;
    __syncthreads();
    for (int first = warp * share; first < products; first += threads * depth) {
      int piece[depth];
      walk_products<depth>(batch.start, batch.before, pieces, first, [&](int u, int of, O position, bool real, bool) {
        piece[u] = of;
        if (real) load(u, position);
      });
#pragma unroll
      for (int u = 0; u < depth; ++u) {
        const int place = first + 32 * u + lane_id();
        if (place < products) store(u, batch.factor[piece[u]], placed + place);
      }
    }
    placed += products;
    __syncthreads();
  }
  return placed;
}

}  // namespace tulle::cuda
