// Rows of the sorted classes: see sorted_rows.cuh.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/spgemm/product_rows.cuh"

namespace tulle::cuda {

/// entries[row] = entries of row `row` of C, for the rows of a list of one class.
template <class O>
void count_sorted(const product_pattern<O>& m, int row_class, const row_list& list, index_t* entries,
                  cudaStream_t stream);

/// Columns (if `columns` says so) and values of the rows of a list.
template <class T, class O>
void fill_sorted(const product_pattern<O>& m, const product_values<T, O>& v, int row_class, const row_list& list,
                 bool columns, cudaStream_t stream);

}  // namespace tulle::cuda
