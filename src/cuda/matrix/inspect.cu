// What one look at a pattern counts. One thread takes entries and rows at the distance of the grid, four in flight;
// 4 bytes per nonzero and the offsets.
#include <cub/block/block_reduce.cuh>

#include "cuda/matrix/matrix.hpp"
#include "cuda/runtime/launch.cuh"

namespace tulle::cuda {
namespace {

/// Adds what the threads of a block found to `found`, with one atomic per number.
__device__ void add_counts(pattern_counts mine, pattern_counts* found) {
  using reduce = cub::BlockReduce<unsigned long long, block_threads>;
  __shared__ typename reduce::TempStorage shared[3];
  const unsigned long long defects = reduce(shared[0]).Sum(mine.defects);
  const unsigned long long descents = reduce(shared[1]).Sum(mine.descents);
  const unsigned long long changes = reduce(shared[2]).Sum(mine.word_changes);
  if (threadIdx.x != 0) return;
  if (defects != 0) atomicAdd(&found->defects, defects);
  if (descents != 0) atomicAdd(&found->descents, descents);
  if (changes != 0) atomicAdd(&found->word_changes, changes);
}

/// Columns that do not increase from one entry to the next, less those where a row begins: 0 where every row increases.
/// Reads nothing out of bounds, whatever the offsets are; the count of descents means nothing then.
template <class O>
__global__ void __launch_bounds__(block_threads)
    inspect_kernel(index_t rows, index_t cols, std::int64_t nnz, const O* __restrict__ rowptr,
                   const index_t* __restrict__ colind, pattern_counts* found) {
  constexpr int depth = 4;  // entries, or rows, that a thread has in flight
  unsigned defects = 0, changes = 0;
  std::int64_t descents = 0;
  for (std::int64_t i = grid_thread(); i < nnz; i += depth * grid_stride()) {
    index_t column[depth], before[depth];
#pragma unroll
    for (int u = 0; u < depth; ++u) {
      const std::int64_t k = i + u * grid_stride();
      column[u] = k < nnz ? colind[k] : 0;
      before[u] = k < nnz && k > 0 ? colind[k - 1] : -1;
    }
#pragma unroll
    for (int u = 0; u < depth; ++u) {
      const bool real = i + u * grid_stride() < nnz;
      defects += real && (column[u] < 0 || column[u] >= cols);
      descents += real && column[u] <= before[u];
      changes += real && column[u] / 32 != before[u] / 32;
    }
  }
  for (std::int64_t i = grid_thread(); i < rows; i += depth * grid_stride()) {
    std::int64_t begin[depth], end[depth];
#pragma unroll
    for (int u = 0; u < depth; ++u) {
      const std::int64_t r = i + u * grid_stride();
      begin[u] = r < rows ? rowptr[r] : 0;
      end[u] = r < rows ? rowptr[r + 1] : 0;
    }
#pragma unroll
    for (int u = 0; u < depth; ++u) {
      defects += end[u] < begin[u] || end[u] > nnz || begin[u] < 0;
      if (begin[u] > 0 && begin[u] < end[u] && begin[u] < nnz) descents -= colind[begin[u]] <= colind[begin[u] - 1];
    }
  }
  if (grid_thread() == 0) defects += rowptr[0] != 0 || rowptr[rows] != nnz;
  add_counts({defects, static_cast<unsigned long long>(descents), changes}, found);
}

}  // namespace

buffer<pattern_counts> inspect_patterns(const context& ctx, std::span<const matrix_ref> patterns) {
  buffer<pattern_counts> counts(ctx, patterns.size());
  fill_bytes(ctx, counts.data(), memory_space::device, 0, counts.bytes());
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const matrix_ref& a = patterns[i];
    dispatch<type_set::all>(pattern_types(a.types), [&]<class T, class O>() {
      launch_items(ctx, "inspect", inspect_kernel<O>, std::max(a.nnz, std::int64_t{a.rows} + 1), a.rows, a.cols, a.nnz,
                   static_cast<const O*>(a.rowptr), a.colind, counts.data() + i);
    });
  }
  return counts;
}

}  // namespace tulle::cuda
