// The pattern of B by words of 32 columns: (column / 32, mask of the columns in it), sorted within each row.
#pragma once

#include <cuda_runtime_api.h>

#include <tulle/core/buffer.hpp>

#include "cuda/spgemm/product_rows.cuh"

namespace tulle::cuda {

/// words[r] = words of row r of B; their sum is added to `total` (zeroed).
template <class O>
void count_words(index_t rows, const O* rowptr, const index_t* colind, index_t* words, unsigned long long* total,
                 cudaStream_t stream);

/// word[wordptr[r] ..] = the words of row r.
template <class O>
void fill_words(index_t rows, const O* rowptr, const index_t* colind, const O* wordptr, uint2* words,
                cudaStream_t stream);

}  // namespace tulle::cuda
