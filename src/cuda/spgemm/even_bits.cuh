// The bits of a row of C's columns, set by a block with even shares of the products for all its threads, whatever the
// lengths of B's rows. Integers only, so the order in which bits are set does not matter.
#pragma once

#include <cuda/std/utility>

#include "cuda/spgemm/product_batch.cuh"

namespace tulle::cuda {

constexpr int even_block = 256;  // threads

/// Words [first, first + count) of the columns' bits, in shared or device memory.
struct bit_window {
  unsigned first;
  unsigned count;
  unsigned* words;
};

/// The blocks that share a row of C.
struct entry_share {
  int block = 0;
  int blocks = 1;
};

/// Sets the bits of entries `from` and `step` on and so on of B, up to `stop`.
template <int Depth, bool Words, class O>
__device__ __forceinline__ void set_bits_of(const word_rows<O>& b, std::int64_t from, int step, std::int64_t stop,
                                            unsigned first, unsigned count, unsigned* words) {
  uint2 word[Depth];
#pragma unroll
  for (int u = 0; u < Depth; ++u) {
    word[u] = from + u * step < stop ? b.template at<Words>(static_cast<O>(from + u * step)) : uint2{0, 0};
  }
#pragma unroll
  for (int u = 0; u < Depth; ++u) {
    if (word[u].y != 0 && word[u].x - first < count) atomicOr(words + (word[u].x - first), word[u].y);
  }
}

/// In shared memory: the rows of B that a batch of A's entries asks for. Late ones are too long for even shares.
template <class O>
struct even_rows {
  static constexpr int longest = 512;

  product_batch<even_block, longest, O> batch;
  int late;
  O late_start[even_block], late_stop[even_block];
};

/// The late rows in pieces, which the warps of the block take in turns.
template <class O>
__device__ __forceinline__ void set_late_bits(const even_rows<O>& rows, const word_rows<O>& b, const bit_window& to) {
  constexpr int depth = 4, piece = 32 * depth, warps = even_block / 32;
  int turns = static_cast<int>(threadIdx.x) / 32;  // pieces until the next of this warp
  for (int i = 0; i < rows.late; ++i) {
    const std::int64_t stop = rows.late_stop[i];
    for (std::int64_t q = rows.late_start[i]; q < stop; q += piece, turns = turns == 0 ? warps - 1 : turns - 1) {
      if (turns == 0) set_bits_of<depth, false>(b, q + lane_id(), 32, stop, to.first, to.count, to.words);
    }
  }
}

/// Sets the bits of a row's columns: those of the block's share of A's entries, of which it takes as many at a time as
/// it has threads, with even shares of their products for all.
template <class O>
__device__ __forceinline__ void set_bits_evenly(const product_pattern<O>& m, const word_rows<O>& b, index_t row,
                                                const entry_share& mine, const bit_window& to, even_rows<O>& rows) {
  constexpr int depth = 4, share = 32 * depth, warps = even_block / 32;
  const std::int64_t end = m.a_rowptr[row + 1], step = std::int64_t{even_block} * mine.blocks;
  for (std::int64_t base = m.a_rowptr[row] + std::int64_t{even_block} * mine.block; base < end; base += step) {
    const std::int64_t k = base + threadIdx.x;
    O start = 0, stop = 0;
    if (k < end) {
      const index_t inner = __ldg(m.a_colind + k);
      start = __ldg(b.begin + inner);
      stop = __ldg(b.end + inner);
    }
    if (threadIdx.x == 0) rows.late = 0;
    const bool has_late = __syncthreads_or(stop - start > rows.longest) != 0;  // all are through with the batch before
    if (stop - start > rows.longest) {
      const int at = atomicAdd(&rows.late, 1);
      rows.late_start[at] = start;
      rows.late_stop[at] = ::cuda::std::exchange(stop, start);
    }
    rows.batch.put(start, stop);
    __syncthreads();
    for (int from = static_cast<int>(threadIdx.x) / 32 * share; from < rows.batch.products(); from += warps * share) {
      uint2 word[depth];
      rows.batch.template walk<depth>(from, [&](int u, int, O position, bool real, bool) {
        word[u] = real ? b.template at<false>(position) : uint2{0, 0};
      });
#pragma unroll
      for (int u = 0; u < depth; ++u) {
        if (word[u].y != 0 && word[u].x - to.first < to.count) atomicOr(to.words + (word[u].x - to.first), word[u].y);
      }
    }
    if (has_late) {
      set_late_bits(rows, b, to);
      __syncthreads();  // before the next batch forgets them
    }
  }
}

}  // namespace tulle::cuda
