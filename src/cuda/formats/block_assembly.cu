// The values of block patterns: every value is the sum of its terms in their order. For a BSR neighbouring threads take
// neighbouring values, several each, so that the reads of offsets, terms and values overlap; for bins a lane takes a
// scalar row, and four warps share a bin. Bytes that must move: the values of the pairs (twice where transposes count
// and do not stay in L2) and those of the matrix, 8 per term and 16 per block.
#include <tulle/formats/views.hpp>

#include "cuda/device/arithmetic.cuh"
#include "cuda/device/load.cuh"
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

/// Value `place` of a block by rows, of a term.
template <int B, class T>
__device__ __forceinline__ T term_value(const T* from, std::int64_t term, int place) {
  if (term < 0) return T{0};
  return load_stream(from + term_place(term, place / B, place % B, B));
}

template <int B, class T>
__global__ void __launch_bounds__(threads)
    assemble_bsr_kernel(std::int64_t values, block_terms blocks, const T* from, T* to) {
  constexpr int area = B * B;
  constexpr int each = 32 / sizeof(T);  // values of a thread
  const std::uint64_t first = std::uint64_t{blockIdx.x} * (threads * each) + threadIdx.x;
  int place[each];
  std::int64_t at[each], end[each], term[each];
  T sum[each];
#pragma unroll
  for (int i = 0; i < each; ++i) {
    const std::uint64_t value = first + static_cast<unsigned>(i * threads);
    const std::uint64_t k = value / area;
    place[i] = static_cast<int>(value - k * area);
    const bool live = value < static_cast<std::uint64_t>(values);
    at[i] = live ? __ldg(blocks.termptr + k) : 0;
    end[i] = live ? __ldg(blocks.termptr + k + 1) : 0;
  }
#pragma unroll
  for (int i = 0; i < each; ++i) term[i] = at[i] < end[i] ? __ldg(blocks.terms + at[i]) : -1;
#pragma unroll
  for (int i = 0; i < each; ++i) sum[i] = term_value<B>(from, term[i], place[i]);
#pragma unroll
  for (int i = 0; i < each; ++i) {
    for (std::int64_t p = at[i] + 1; p < end[i]; ++p) {
      const std::int64_t more = __ldg(blocks.terms + p);
      if (more >= 0) sum[i] = add(sum[i], term_value<B>(from, more, place[i]));
    }
    const std::uint64_t value = first + static_cast<unsigned>(i * threads);
    if (value < static_cast<std::uint64_t>(values)) to[value] = sum[i];
  }
}

/// The bins of a bin_bsr, and the block rows of which they are made.
struct bins_of_blocks {
  std::int64_t rows;
  const std::int64_t* rowptr;
  const std::int64_t* binptr;
};

template <int B, class T>
__global__ void __launch_bounds__(threads)
    assemble_bins_kernel(bins_of_blocks a, block_terms blocks, const T* from, T* to) {
  const std::int64_t warp = grid_thread() / 32, bin = warp / warps_a_bin;
  const std::int64_t row = bin * bin_rows + threadIdx.x % 32;
  if (row >= a.rows) return;
  const int i = static_cast<int>(row % B);
  const std::int64_t begin = a.rowptr[row / B], end = a.rowptr[row / B + 1];
  for (std::int64_t k = begin + warp % warps_a_bin; k < end; k += warps_a_bin) {
    T sum[B] = {};
    const std::int64_t first = __ldg(blocks.termptr + k), last = __ldg(blocks.termptr + k + 1);
    for (std::int64_t p = first; p < last; ++p) {
      const std::int64_t term = __ldg(blocks.terms + p);
      if (term < 0) continue;
#pragma unroll
      for (int j = 0; j < B; ++j) {
        const T value = term_value<B>(from, term, i * B + j);
        sum[j] = p == first ? value : add(sum[j], value);
      }
    }
    const std::int64_t slot = a.binptr[bin] + (k - begin) * bin_rows + row % bin_rows;
    T* const at = to + bin_place(slot, static_cast<index_t>(row % bin_rows), B);
#pragma unroll
    for (int j = 0; j < B; ++j) at[j * bin_rows] = sum[j];
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
    const std::int64_t values = p.blocks() * B * B;
    launch("assemble_bsr", assemble_bsr_kernel<B, T>,
           {ceil_div(values, threads * 32 / static_cast<int>(sizeof(T))), threads}, native(ctx), values,
           block_terms{p.termptr.data(), p.terms.data()}, static_cast<const T*>(from), static_cast<T*>(to));
  });
}

void assemble_bins(const context& ctx, const block_pattern& p, scalar_type type, const void* from, void* to) {
  const auto bins = static_cast<std::int64_t>(p.binptr.size()) - 1;
  with_types(p.block, type, [&]<int B, class T>() {
    launch("assemble_bins", assemble_bins_kernel<B, T>, threads_for(bins * warps_a_bin * 32, threads), native(ctx),
           bins_of_blocks{p.rows(), p.rowptr.data(), p.binptr.data()}, block_terms{p.termptr.data(), p.terms.data()},
           static_cast<const T*>(from), static_cast<T*>(to));
  });
}

}  // namespace tulle::cuda
