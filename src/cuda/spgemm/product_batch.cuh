// Products laid end to end, so that the threads of a block have even shares whatever the lengths of B's rows are.
#pragma once

#include "cuda/spgemm/product_rows.cuh"

namespace tulle::cuda {

/// Calls visit(u, piece, its position in B, whether there is such a product, whether the 32 lanes see several pieces)
/// for the lane's u-th of Depth * 32 neighbouring products from `first` on, which is one of them. start: of each of the
/// `pieces`, none of which is empty, in B; before: products before each, then all. All lanes of the warp call it.
template <int Depth, class O, class Visit>
__device__ __forceinline__ void walk_products(const O* start, const int* before, int pieces, int first, Visit visit) {
  int piece = 0;  // of the product `here`: the last that begins at or before it
  for (int end = pieces; piece + 1 < end;) {
    const int middle = (piece + end) / 2;
    (before[middle] <= first ? piece : end) = middle;
  }
  const int all = before[pieces];
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

  /// walk_products on this batch.
  template <int Depth, class Visit>
  __device__ __forceinline__ void walk(int first, Visit visit) const {
    walk_products<Depth>(start, before, pieces, first, visit);
  }
};

}  // namespace tulle::cuda
