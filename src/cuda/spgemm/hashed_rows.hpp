// Rows whose entries lie in few words of 32 columns: see hashed_count.cu and hashed_fill.cu.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/spgemm/word_walk.cuh"

namespace tulle::cuda {

/// Counts the entries of the rows of a list of class trial_512 or trial, and gives each its class: one of the hashed,
/// or wide_counted, the most entries of which go to `most`; sorted_512 or wide (not counted) where the words do not fit
/// the table.
template <class O>
void try_hashed(const product_pattern<O>& m, const word_rows<O>& b, row_class trial_class, const row_list& list,
                index_t* entries, index_t* most, std::uint8_t* classes, cudaStream_t stream);

/// Values of C in the rows of a list of a hashed class, and their columns first if `columns` says so.
template <class T, class O>
void fill_hashed(const product_pattern<O>& m, const word_rows<O>& b, const product_values<T, O>& v, bool short_rows,
                 row_class c, const row_list& list, bool columns, cudaStream_t stream);

}  // namespace tulle::cuda
