// The values of block patterns: every value is the sum of its terms in their order. A thread takes a row of a block: it
// looks up the block's terms once and reads the row of each (of a transposed one the column) at once. For a BSR threads
// take neighbouring rows, and their values leave through shared memory side by side; for bins lanes take the 32 rows of
// a bin, which four warps share, and look for the terms of their next block while the values of this one are on their
// way. Bytes that must move: the values of the pairs (twice where transposes count and do not stay in L2) and those of
// the matrix, 8 per term and 16 per block.
#include <cstdlib>
#include <tulle/formats/views.hpp>

#include "cuda/device/arithmetic.cuh"
#include "cuda/formats/block_assembly.hpp"
#include "cuda/runtime/launch.cuh"
#include "cuda/spmv/csr_operator.cuh"
#include "kernels/types.hpp"

namespace tulle::cuda {
namespace {

constexpr int threads = 256;
constexpr int warps_a_bin = 4;

/// Which terms make a block.
struct block_terms {
  const std::int64_t* termptr;
  const std::int64_t* terms;
};

/// The terms of a block that are left to add, the first of them looked up.
struct term_range {
  std::int64_t at = 0, end = 0;
  std::int64_t term = -1;

  term_range() = default;
  __device__ __forceinline__ term_range(const block_terms& blocks, std::int64_t k)
      : at(__ldg(blocks.termptr + k)), end(__ldg(blocks.termptr + k + 1)) {
    term = at < end ? __ldg(blocks.terms + at) : -1;
  }
};

/// Row i of a term. They are read through L1, where neighbours find what one load brought for them.
template <int B, class T>
__device__ __forceinline__ void load_row(const T* from, std::int64_t term, int i, T (&row)[B]) {
  const bool transposed = (term & 1) != 0;
  const T* const first = from + (term >> 1) * (B * B) + (transposed ? i : i * B);
  const int step = transposed ? B : 1;
#pragma unroll
  for (int j = 0; j < B; ++j) row[j] = term < 0 ? T{0} : __ldg(first + j * step);
}

/// Adds what comes after the first term of a block.
template <int B, class T>
__device__ __forceinline__ void add_rows(const block_terms& blocks, const T* from, const term_range& range, int i,
                                         T (&sum)[B]) {
  for (std::int64_t p = range.at + 1; p < range.end; ++p) {
    const std::int64_t term = __ldg(blocks.terms + p);
    if (term < 0) continue;
    T row[B];
    load_row<B>(from, term, i, row);
#pragma unroll
    for (int j = 0; j < B; ++j) sum[j] = add(sum[j], row[j]);
  }
}

/// Blocks of which a thread has a row on its way at once: few bytes each would not keep the memory busy.
template <int B, class T, int bytes>
constexpr int rows_together = B * sizeof(T) * 2 > bytes ? 1 : 2;

template <int B, class T>
__global__ void __launch_bounds__(threads)
    assemble_bsr_kernel(std::int64_t rows, block_terms blocks, const T* from, T* to) {
  constexpr int together = rows_together<B, T, 32>;
  __shared__ T shared[threads * together * B];
  const std::int64_t first = std::int64_t{blockIdx.x} * (threads * together);
  const auto row_of = [=](int u) { return first + u * threads + static_cast<int>(threadIdx.x); };
  term_range range[together];
  int i[together];
  T sum[together][B];
#pragma unroll
  for (int u = 0; u < together; ++u) {
    const auto k = static_cast<std::int64_t>(static_cast<std::uint64_t>(row_of(u)) / B);
    i[u] = static_cast<int>(row_of(u) - k * B);
    if (row_of(u) < rows) range[u] = term_range(blocks, k);
  }
#pragma unroll
  for (int u = 0; u < together; ++u) load_row<B>(from, range[u].term, i[u], sum[u]);
#pragma unroll
  for (int u = 0; u < together; ++u) {
    add_rows<B>(blocks, from, range[u], i[u], sum[u]);
#pragma unroll
    for (int j = 0; j < B; ++j) shared[(u * threads + threadIdx.x) * B + j] = sum[u][j];
  }
  __syncthreads();
  const int values = static_cast<int>(min(std::int64_t{threads * together}, rows - first)) * B;
#pragma unroll
  for (int n = 0; n < B * together; ++n) {
    const int at = n * threads + static_cast<int>(threadIdx.x);
    if (at < values) to[first * B + at] = shared[at];
  }
}

/// The bins of a bin_bsr, and the block rows of which they are made.
struct bins_of_blocks {
  std::int64_t rows;
  const std::int64_t* rowptr;
  const std::int64_t* binptr;
};

/// The first term of a block and, in the last bit, whether there are more.
__device__ __forceinline__ std::int64_t first_term(const block_terms& blocks, std::int64_t k) {
  const term_range range(blocks, k);
  return range.term * 2 + (range.end - range.at > 1 ? 1 : 0);
}

/// The longest row of those whose slots share a sector of so many bytes with this lane's.
template <int bytes, class T>
__device__ __forceinline__ std::int64_t longest_in_sector(std::int64_t length) {
  constexpr int lanes = bytes / static_cast<int>(sizeof(T));
#pragma unroll
  for (int d = lanes / 2; d > 0; d /= 2) length = max(length, __shfl_xor_sync(full_warp, length, d));
  return length;
}

constexpr int most_staged = 1024;

template <int Warps, int Threads, int Together, int Unroll, int B, class T>
__global__ void __launch_bounds__(Threads)
    assemble_bins_kernel(bins_of_blocks a, block_terms blocks, const T* from, T* to) {
  constexpr int together = B * sizeof(T) * 2 > 64 ? 1 : Together, step = Warps * together;
  constexpr int rows_a_block = Threads / Warps;
  __shared__ std::int64_t staged[most_staged];
  const std::int64_t warp = grid_thread() / 32, bin = warp / Warps;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const std::int64_t row = bin * bin_rows + lane;
  const std::int64_t top = std::int64_t{blockIdx.x} * rows_a_block;
  const std::int64_t first_block = a.rowptr[top / B], end_block = a.rowptr[(min(top + rows_a_block, a.rows) - 1) / B + 1];
  const bool fits = end_block - first_block <= most_staged;
  if (fits) {
#pragma unroll Unroll
    for (std::int64_t k = first_block + threadIdx.x; k < end_block; k += Threads)
      staged[k - first_block] = first_term(blocks, k);
    __syncthreads();
  }
  if (bin * bin_rows >= a.rows) return;
  const int i = static_cast<int>(row % B);
  const std::int64_t begin = row < a.rows ? a.rowptr[row / B] : 0, end = row < a.rows ? a.rowptr[row / B + 1] : 0;
  const std::int64_t first = a.binptr[bin];
  const std::int64_t last = begin + longest_in_sector<32, T>(end - begin);
  T* const slots = to + first * B + lane;
  const auto word_of = [&](std::int64_t at) {
    return at >= end ? -2 : fits ? staged[at - first_block] : first_term(blocks, at);
  };
  for (std::int64_t k = begin + warp % Warps; k < last; k += step) {
    std::int64_t word[together];
    T sum[together][B];
#pragma unroll
    for (int u = 0; u < together; ++u) word[u] = word_of(k + u * Warps);
#pragma unroll
    for (int u = 0; u < together; ++u) load_row<B>(from, word[u] >> 1, i, sum[u]);
#pragma unroll
    for (int u = 0; u < together; ++u) {
      const std::int64_t at = k + u * Warps;
      if (at >= last) break;
      if ((word[u] & 1) != 0) add_rows<B>(blocks, from, term_range(blocks, at), i, sum[u]);
#pragma unroll
      for (int j = 0; j < B; ++j) slots[((at - begin) * B + j) * bin_rows] = sum[u][j];
    }
  }
}

/// Calls f.operator()<B, T>() for the block and the type of the values.
template <class F>
void with_types(index_t block, scalar_type type, const F& f) {
  dispatch<type_set::all>({type, offset_type::i32}, [&]<class T, class>() {
    with_constant<1, 2, 3, 4, 5, 6, 7, 8>(block, [&]<int B>() { f.template operator()<B, T>(); });
  });
}

}  // namespace

void assemble_bsr(const context& ctx, const block_pattern& p, scalar_type type, const void* from, void* to) {
  with_types(p.block, type, [&]<int B, class T>() {
    const std::int64_t rows = p.blocks() * B;
    const launch_shape shape{ceil_div(rows, threads * rows_together<B, T, 32>), threads};
    launch("assemble_bsr", assemble_bsr_kernel<B, T>, shape, native(ctx), rows,
           block_terms{p.termptr.data(), p.terms.data()}, static_cast<const T*>(from), static_cast<T*>(to));
  });
}

void assemble_bins(const context& ctx, const block_pattern& p, scalar_type type, const void* from, void* to) {
  const auto bins = static_cast<std::int64_t>(p.binptr.size()) - 1;
  with_types(p.block, type, [&]<int B, class T>() {
    const auto go = [&]<int Warps, int Threads, int Together, int Unroll>() {
      launch("assemble_bins", assemble_bins_kernel<Warps, Threads, Together, Unroll, B, T>,
             threads_for(bins * Warps * 32, Threads), native(ctx),
             bins_of_blocks{p.rows(), p.rowptr.data(), p.binptr.data()}, block_terms{p.termptr.data(), p.terms.data()},
             static_cast<const T*>(from), static_cast<T*>(to));
    };
    if constexpr (std::is_integral_v<T> || (B != 2 && B != 3 && B != 4 && B != 6))
      return go.template operator()<4, 128, 2, 1>();
    const char* const t = std::getenv("TULLE_TRY");
    switch (t != nullptr ? std::atoi(t) : 0) {
      case 0: return go.template operator()<4, 256, 2, 1>();
      case 1: return go.template operator()<4, 128, 2, 1>();
      case 2: return go.template operator()<4, 128, 2, 2>();
      case 3: return go.template operator()<2, 128, 2, 1>();
      case 4: return go.template operator()<2, 64, 2, 1>();
      case 5: return go.template operator()<2, 128, 4, 1>();
      case 6: return go.template operator()<1, 64, 2, 1>();
      default: return go.template operator()<1, 128, 4, 1>();
    }
  });
}

}  // namespace tulle::cuda
