// B by words of 32 columns: one pass over its columns. One warp a row; one thread: an entry at a time.
#include <algorithm>

#include "cuda/runtime/check.hpp"
#include "cuda/spgemm/column_words.hpp"

namespace tulle::cuda {
namespace {

constexpr int block = 256, warps = block / 32;

constexpr int depth = 4;  // entries that a thread has in flight

/// Calls at_head(ordinal of the word in its row, position, column) where an entry is the first of its word; returns the
/// words of the row. All lanes of the warp call it.
template <class O, class AtHead>
__device__ index_t for_each_word(O begin, O end, const index_t* colind, AtHead at_head) {
  index_t words = 0;
  for (std::int64_t base = begin; base < end; base += 32 * depth) {
    index_t column[depth], before[depth];
#pragma unroll
    for (int u = 0; u < depth; ++u) {
      const std::int64_t k = base + 32 * u + lane_id();
      column[u] = k < end ? __ldg(colind + k) : -1;
      before[u] = k < end && k > begin ? __ldg(colind + k - 1) : -1;
    }
#pragma unroll
    for (int u = 0; u < depth; ++u) {
      const bool head = column[u] >= 0 && (before[u] < 0 || column[u] / 32 != before[u] / 32);
      const unsigned heads = __ballot_sync(full_warp, head);
      if (head) at_head(words + __popc(heads & lanes_before()), static_cast<O>(base + 32 * u + lane_id()), column[u]);
      words += __popc(heads);
    }
  }
  return words;
}

template <class O>
__global__ void __launch_bounds__(block) fill_words_kernel(index_t rows, const O* rowptr, const index_t* colind,
                                                           O* ends, uint2* words, unsigned long long* total) {
  __shared__ unsigned long long sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  unsigned long long mine = 0;
  for (std::int64_t row = std::int64_t{blockIdx.x} * warps + threadIdx.x / 32; row < rows;
       row += std::int64_t{gridDim.x} * warps) {
    const O begin = rowptr[row], end = rowptr[row + 1];
    const index_t found = for_each_word(begin, end, colind, [&](index_t ordinal, O k, index_t column) {
      const index_t word = column / 32;
      unsigned mask = 1u << column % 32;
      for (O other = k + 1; other < end && (column = __ldg(colind + other)) / 32 == word; ++other) {
        mask |= 1u << column % 32;
      }
      words[begin + ordinal] = {static_cast<unsigned>(word), mask};
    });
    if (lane_id() == 0) ends[row] = begin + found;
    mine += static_cast<unsigned long long>(found);
  }
  if (lane_id() == 0) atomicAdd(&sum, mine);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(total, sum);
}

}  // namespace

template <class O>
void fill_words(index_t rows, const O* rowptr, const index_t* colind, O* ends, uint2* words, unsigned long long* total,
                cudaStream_t stream) {
  if (rows == 0) return;
  const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(rows / warps + 1, 8192));
  fill_words_kernel<O><<<blocks, block, 0, stream>>>(rows, rowptr, colind, ends, words, total);
  check_launch("spgemm: fill_words");
}

template void fill_words(index_t, const std::int32_t*, const index_t*, std::int32_t*, uint2*, unsigned long long*,
                         cudaStream_t);
template void fill_words(index_t, const std::int64_t*, const index_t*, std::int64_t*, uint2*, unsigned long long*,
                         cudaStream_t);

}  // namespace tulle::cuda
