// Rows whose entries are many or far apart: see wide_pattern.cu and wide_values.cu.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/spgemm/word_walk.cuh"

namespace tulle::cuda {

/// What the kernels of wide rows need to know of the device.
struct wide_launch {
  int multiprocessors;
  std::size_t shared_bytes;  // that a block may have
};

/// entries[row] = entries of row `row` of C, for the rows of a list.
template <class O>
void count_wide(const product_pattern<O>& m, const word_rows<O>& b, bool short_rows, const row_list& list,
                const wide_launch& device, index_t* entries, cudaStream_t stream);

/// Columns of C in the rows of a list.
template <class O>
void fill_wide_columns(const product_pattern<O>& m, const word_rows<O>& b, bool short_rows, const row_list& list,
                       const wide_launch& device, const O* c_rowptr, index_t* c_colind, cudaStream_t stream);

/// Entries of C that a warp makes at a time, at most.
constexpr int wide_chunk = 1024;

/// Values of C in the rows of a list, whose columns are there. chunk_begin[i]: chunks of the rows before the i-th of
/// the list, which has list.most rows; `next` is a number on the device; mean_b: entries of the rows of B that A asks
/// for.
template <class T, class O>
void fill_wide_values(const product_pattern<O>& m, const product_values<T, O>& v, float mean_b, const row_list& list,
                      const std::int64_t* chunk_begin, unsigned long long* next, const wide_launch& device,
                      cudaStream_t stream);

}  // namespace tulle::cuda
