// The rows of B as words of 32 columns.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/spgemm/product_rows.cuh"

namespace tulle::cuda {

/// Writes the words (column / 32, mask of the columns) of row r, which is sorted, in order from words[rowptr[r]] on,
/// sets ends[r] to where they end, and adds their number to *total.
template <class O>
void fill_words(index_t rows, const O* rowptr, const index_t* colind, O* ends, uint2* words, unsigned long long* total,
                cudaStream_t stream);

}  // namespace tulle::cuda
