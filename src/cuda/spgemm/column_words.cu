// B by words of 32 columns: one pass over its columns. One warp per row; one thread: an entry at a time.
#include <algorithm>

#include "cuda/runtime/launch.cuh"
#include "cuda/spgemm/row_kernels.hpp"
#include "cuda/spgemm/word_run.cuh"

namespace tulle::cuda {
namespace {

/// The next runs, gathered: entries base .. end - 1, 32 a run, none where they end before. column(k): that of entry k.
/// `before`: the word of the entry before these. All lanes of the warp call it.
template <int Runs, class I, class Column>
__device__ __forceinline__ void read_runs(word_run (&run)[Runs], I base, I end, int before, Column column) {
#pragma unroll
  for (int u = 0; u < Runs; ++u) {
    if (base + 32 * u >= end) break;
    const I k = base + 32 * u + lane_id();
    run[u] = word_run::of(k < end ? column(k) : -1);
  }
#pragma unroll
  for (int u = 0; u < Runs; ++u) {
    if (base + 32 * u >= end) break;
    run[u].gather(u == 0 ? before : run[u == 0 ? 0 : u - 1].last());
  }
}

constexpr int block = 256, warps = block / 32;

constexpr int depth = 4;  // entries that a thread has in flight

/// Calls put(ordinal of the word in its row, word, mask) for each word; returns the words of the row. All lanes of the
/// warp call it.
template <class O, class Put>
__device__ index_t for_each_word(O begin, O end, const index_t* colind, Put put) {
  index_t words = 0;
  int before = -1;
  for (std::int64_t base = begin; base < end; base += 32 * depth) {
    word_run run[depth + 1];  // a word has at most 32 columns: it ends in the next 32 entries
    read_runs(run, base, std::int64_t{end}, before, [&](std::int64_t k) { return __ldg(colind + k); });
    before = run[depth - 1].last();
#pragma unroll
    for (int u = 0; u < depth; ++u) {
      if (base + 32 * u >= end) break;
      const int next = __shfl_sync(full_warp, run[u + 1].word, 0);
      const unsigned more = __shfl_sync(full_warp, run[u + 1].mask, 0);
      if ((run[u].heads >> lane_id() & 1) != 0) {
        put(words + __popc(run[u].heads & lanes_before()), static_cast<unsigned>(run[u].word),
            run[u].mask | (run[u].word == next ? more : 0));
      }
      words += __popc(run[u].heads);
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
    const index_t found = for_each_word(begin, end, colind, [&](index_t ordinal, unsigned word, unsigned mask) {
      words[begin + ordinal] = {word, mask};
    });
    if (lane_id() == 0) ends[row] = begin + found;
    mine += static_cast<unsigned long long>(found);
  }
  if (lane_id() == 0) atomicAdd(&sum, mine);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(total, sum);
}

}  // namespace

void fill_words(const product_ref& p, index_t b_rows, void* ends, uint2* words, unsigned long long* total,
                cudaStream_t stream) {
  if (b_rows == 0) return;
  p.with_offsets([&]<class O>() {
    launch("spgemm: fill_words", fill_words_kernel<O>, {std::min(b_rows / warps + 1, 8192), block}, stream, b_rows,
           static_cast<const O*>(p.b_rowptr), p.b_colind, static_cast<O*>(ends), words, total);
  });
}

}  // namespace tulle::cuda
