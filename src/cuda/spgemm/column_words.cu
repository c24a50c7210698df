// B by words of 32 columns: two passes over its columns. One warp a row; one thread: an entry at a time.
#include <algorithm>

#include "cuda/runtime/check.hpp"
#include "cuda/spgemm/column_words.hpp"

namespace tulle::cuda {
namespace {

constexpr int block = 256, warps = block / 32;

/// Calls at_head(ordinal of the word in its row, position) where an entry is the first of its word; returns the words
/// of the row. All lanes of the warp call it.
template <class O, class AtHead>
__device__ index_t for_each_word(O begin, O end, const index_t* colind, AtHead at_head) {
  index_t words = 0;
  for (O base = begin; base < end; base += 32) {
    const O k = base + lane_id();
    const bool head = k < end && (k == begin || colind[k] / 32 != colind[k - 1] / 32);
    const unsigned heads = __ballot_sync(full_warp, head);
    if (head) at_head(words + __popc(heads & ((1u << lane_id()) - 1)), k);
    words += __popc(heads);
  }
  return words;
}

template <class O>
__global__ void __launch_bounds__(block) count_words_kernel(index_t rows, const O* rowptr, const index_t* colind,
                                                            index_t* words, unsigned long long* total) {
  __shared__ unsigned long long sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  unsigned long long mine = 0;
  for (std::int64_t row = std::int64_t{blockIdx.x} * warps + threadIdx.x / 32; row < rows;
       row += std::int64_t{gridDim.x} * warps) {
    const index_t found = for_each_word(rowptr[row], rowptr[row + 1], colind, [](index_t, O) {});
    if (lane_id() == 0) words[row] = found;
    mine += static_cast<unsigned long long>(found);
  }
  if (lane_id() == 0) atomicAdd(&sum, mine);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(total, sum);
}

template <class O>
__global__ void __launch_bounds__(block)
    fill_words_kernel(index_t rows, const O* rowptr, const index_t* colind, const O* wordptr, uint2* words) {
  for (std::int64_t row = std::int64_t{blockIdx.x} * warps + threadIdx.x / 32; row < rows;
       row += std::int64_t{gridDim.x} * warps) {
    const O end = rowptr[row + 1], to = wordptr[row];
    for_each_word(rowptr[row], end, colind, [&](index_t ordinal, O k) {
      const index_t word = colind[k] / 32;
      unsigned mask = 0;
      for (O other = k; other < end && colind[other] / 32 == word; ++other) mask |= 1u << (colind[other] % 32);
      words[to + ordinal] = {static_cast<unsigned>(word), mask};
    });
  }
}

unsigned blocks_for_rows(std::int64_t rows) {
  return static_cast<unsigned>(std::clamp<std::int64_t>(rows / warps + 1, 1, 8192));
}

}  // namespace

template <class O>
void count_words(index_t rows, const O* rowptr, const index_t* colind, index_t* words, unsigned long long* total,
                 cudaStream_t stream) {
  if (rows == 0) return;
  count_words_kernel<O><<<blocks_for_rows(rows), block, 0, stream>>>(rows, rowptr, colind, words, total);
  check_launch("spgemm: count_words");
}

template <class O>
void fill_words(index_t rows, const O* rowptr, const index_t* colind, const O* wordptr, uint2* words,
                cudaStream_t stream) {
  if (rows == 0) return;
  fill_words_kernel<O><<<blocks_for_rows(rows), block, 0, stream>>>(rows, rowptr, colind, wordptr, words);
  check_launch("spgemm: fill_words");
}

template void count_words(index_t, const std::int32_t*, const index_t*, index_t*, unsigned long long*, cudaStream_t);
template void count_words(index_t, const std::int64_t*, const index_t*, index_t*, unsigned long long*, cudaStream_t);
template void fill_words(index_t, const std::int32_t*, const index_t*, const std::int32_t*, uint2*, cudaStream_t);
template void fill_words(index_t, const std::int64_t*, const index_t*, const std::int64_t*, uint2*, cudaStream_t);

}  // namespace tulle::cuda
