// Rows with more products than are sorted in registers, few of which share an entry of C: a block of threads for each.
// What counting (bucketed_count.cu) and filling (bucketed_fill.cu) share: how many products a row may have, and the
// walk over them.
#pragma once

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

/// Lanes that walk a row of B together: so many entries it has on average, or more.
constexpr int lanes_for(double mean_b) { return mean_b <= 4 ? 4 : mean_b <= 12 ? 8 : mean_b <= 24 ? 16 : 32; }

/// As many entries of A as a block has threads: the rows of B that they ask for.
template <class T, class O>
struct entry_batch {
  O* start;
  int* length;
  int* place;  // of their first products
  T* factor;

  /// In memory for `threads` entries, aligned for T.
  __device__ entry_batch(void* memory, int threads)
      : start(reinterpret_cast<O*>(static_cast<T*>(memory) + threads)),
        length(reinterpret_cast<int*>(start + threads)),
        place(length + threads),
        factor(static_cast<T*>(memory)) {}
  static constexpr std::size_t bytes(int threads) {
    return static_cast<std::size_t>(threads) * (sizeof(T) + sizeof(O) + 2 * sizeof(int));
  }
};

/// Rows of B that a group of lanes has in flight.
constexpr int bucketed_depth = 4;

/// Rows of B longer than this, for each lane of a group, are left to the whole block.
constexpr int long_piece = 8;

/// Calls load(u, position in B) and then store(u, entry of the batch, entry of the row of B) for every product of a
/// batch of `count` entries. has_long: whether one has a long row.
template <class T, class O, class Load, class Store>
__device__ __forceinline__ void walk_batch(const entry_batch<T, O>& batch, int count, int lanes, bool has_long,
                                           Load load, Store store) {
  constexpr int depth = bucketed_depth;
  const int lane = static_cast<int>(threadIdx.x) & (lanes - 1), groups = static_cast<int>(blockDim.x) / lanes;
  for (int first = static_cast<int>(threadIdx.x) / lanes; first < count; first += depth * groups) {
    O from[depth];
    int length[depth];
#pragma unroll
    for (int u = 0; u < depth; ++u) {
      const int e = first + u * groups;
      from[u] = e < count ? batch.start[e] : O{0};
      length[u] = e < count ? batch.length[e] : 0;
      if (length[u] > long_piece * lanes) length[u] = 0;
    }
#pragma unroll
    for (int u = 0; u < depth; ++u) {
      if (lane < length[u]) load(u, from[u] + lane);
    }
#pragma unroll
    for (int u = 0; u < depth; ++u) {
      if (lane < length[u]) store(u, first + u * groups, lane);
    }
#pragma unroll
    for (int u = 0; u < depth; ++u) {
      for (int q = lane + lanes; q < length[u]; q += lanes) {
        load(u, from[u] + q);
        store(u, first + u * groups, q);
      }
    }
  }
  for (int e = 0; has_long && e < count; ++e) {
    const int length = batch.length[e], threads = static_cast<int>(blockDim.x);
    for (int base = static_cast<int>(threadIdx.x); length > long_piece * lanes && base < length;
         base += depth * threads) {
#pragma unroll
      for (int u = 0; u < depth; ++u) {
        if (base + u * threads < length) load(u, batch.start[e] + base + u * threads);
      }
#pragma unroll
      for (int u = 0; u < depth; ++u) {
        if (base + u * threads < length) store(u, e, base + u * threads);
      }
    }
  }
}

/// All products of a row, as many entries of A at a time as a block has threads; load and store as above.
/// begin(position in A of the thread's entry, whether there is one, length of its row of B) runs before each batch.
template <class T, class O, class Begin, class Load, class Store>
__device__ __forceinline__ void walk_row(const product_pattern<O>& m, index_t row, const entry_batch<T, O>& batch,
                                         int lanes, Begin begin, Load load, Store store) {
  const int threads = static_cast<int>(blockDim.x), tid = static_cast<int>(threadIdx.x);
  const O end = m.a_rowptr[row + 1];
  for (O base = m.a_rowptr[row]; base < end; base += threads) {
    const int count = static_cast<int>(min(O(threads), O(end - base)));
    int length = 0;
    if (tid < count) {
      const index_t inner = __ldg(m.a_colind + base + tid);
      const O start = __ldg(m.b_rowptr + inner);
      length = static_cast<int>(__ldg(m.b_rowptr + inner + 1) - start);
      batch.start[tid] = start;
      batch.length[tid] = length;
    }
    begin(base + tid, tid < count, length);
    const bool has_long = __syncthreads_or(length > long_piece * lanes) != 0;
    walk_batch(batch, count, lanes, has_long, load, store);
    __syncthreads();
  }
}

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

}  // namespace tulle::cuda
