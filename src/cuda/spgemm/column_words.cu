// B by words of 32 columns: two passes over its columns. One thread: an entry at a time, 4 or 32 lanes a row.
#include <algorithm>

#include "cuda/runtime/check.hpp"
#include "cuda/spgemm/column_words.hpp"

namespace tulle::cuda {
namespace {

constexpr int block = 256;

/// Calls at_head(ordinal of the word in its row, position) where an entry is the first of its word; returns the words
/// of the row. All lanes of the warp call it.
template <int Lanes, class O, class AtHead>
__device__ index_t for_each_word(O begin, O end, const index_t* colind, int lane, AtHead at_head) {
  const int shift = static_cast<int>(threadIdx.x) % 32 / Lanes * Lanes;
  constexpr unsigned all = Lanes == 32 ? full_warp : (1u << Lanes) - 1;
  index_t words = 0;
  for (O base = begin; __any_sync(full_warp, base < end); base += Lanes) {
    const O k = base + lane;
    const bool head = k < end && (k == begin || colind[k] / 32 != colind[k - 1] / 32);
    const unsigned heads = __ballot_sync(full_warp, head) >> shift & all;
    if (head) at_head(words + __popc(heads & ((1u << lane) - 1)), k);
    words += __popc(heads);
  }
  return words;
}

template <int Lanes, class O>
__global__ void __launch_bounds__(block)
    count_words_kernel(index_t rows, const O* rowptr, const index_t* colind, index_t* words, unsigned long long* total) {
  __shared__ unsigned long long sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
  unsigned long long mine = 0;
  for (std::int64_t first = std::int64_t{blockIdx.x} * (block / Lanes); first < rows; first += std::int64_t{gridDim.x} * (block / Lanes)) {
    const std::int64_t row = first + threadIdx.x / Lanes;
    const bool there = row < rows;
    const O begin = there ? rowptr[row] : 0, end = there ? rowptr[row + 1] : 0;
    const index_t found = for_each_word<Lanes>(begin, end, colind, lane, [](index_t, O) {});
    if (there && lane == 0) {
      words[row] = found;
      mine += static_cast<unsigned long long>(found);
    }
  }
  mine = warp_sum(mine);
  if (lane_id() == 0) atomicAdd(&sum, mine);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(total, sum);
}

template <int Lanes, class O>
__global__ void __launch_bounds__(block)
    fill_words_kernel(index_t rows, const O* rowptr, const index_t* colind, const O* wordptr, uint2* words) {
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
  for (std::int64_t first = std::int64_t{blockIdx.x} * (block / Lanes); first < rows; first += std::int64_t{gridDim.x} * (block / Lanes)) {
    const std::int64_t row = first + threadIdx.x / Lanes;
    const bool there = row < rows;
    const O begin = there ? rowptr[row] : 0, end = there ? rowptr[row + 1] : 0, to = there ? wordptr[row] : 0;
    for_each_word<Lanes>(begin, end, colind, lane, [&](index_t ordinal, O k) {
      const index_t word = colind[k] / 32;
      unsigned mask = 0;
      for (O other = k; other < end && colind[other] / 32 == word; ++other) mask |= 1u << (colind[other] % 32);
      words[to + ordinal] = {static_cast<unsigned>(word), mask};
    });
  }
}

unsigned blocks_for_rows(std::int64_t rows, int lanes) {
  return static_cast<unsigned>(std::clamp<std::int64_t>(rows * lanes / block + 1, 1, 4096));
}

}  // namespace

template <class O>
void count_words(index_t rows, const O* rowptr, const index_t* colind, double mean_row, index_t* words,
                 unsigned long long* total, cudaStream_t stream) {
  if (rows == 0) return;
  mean_row <= 12 ? count_words_kernel<4, O><<<blocks_for_rows(rows, 4), block, 0, stream>>>(rows, rowptr, colind, words, total)
                 : count_words_kernel<32, O><<<blocks_for_rows(rows, 32), block, 0, stream>>>(rows, rowptr, colind, words, total);
  check_launch("spgemm: count_words");
}

template <class O>
void fill_words(index_t rows, const O* rowptr, const index_t* colind, double mean_row, const O* wordptr, uint2* words,
                cudaStream_t stream) {
  if (rows == 0) return;
  mean_row <= 12 ? fill_words_kernel<4, O><<<blocks_for_rows(rows, 4), block, 0, stream>>>(rows, rowptr, colind, wordptr, words)
                 : fill_words_kernel<32, O><<<blocks_for_rows(rows, 32), block, 0, stream>>>(rows, rowptr, colind, wordptr, words);
  check_launch("spgemm: fill_words");
}

template void count_words(index_t, const std::int32_t*, const index_t*, double, index_t*, unsigned long long*, cudaStream_t);
template void count_words(index_t, const std::int64_t*, const index_t*, double, index_t*, unsigned long long*, cudaStream_t);
template void fill_words(index_t, const std::int32_t*, const index_t*, double, const std::int32_t*, uint2*, cudaStream_t);
template void fill_words(index_t, const std::int64_t*, const index_t*, double, const std::int64_t*, uint2*, cudaStream_t);

}  // namespace tulle::cuda
