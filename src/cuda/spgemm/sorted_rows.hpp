// Rows of the sorted classes: see sorted_rows.cuh.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/spgemm/product_rows.cuh"

namespace tulle::cuda {

/// Rows of sorted_8, sorted_16 and so on to sorted_512. Classes with many rows get a launch each, the others share one.
struct sorted_lists {
  row_list of[7];
};

/// entries[row] = entries of row `row` of C, for the rows of the lists.
template <class O>
void count_sorted(const product_pattern<O>& m, const sorted_lists& lists, index_t* entries, cudaStream_t stream);

/// Columns (if `columns` says so) and values of the rows of the lists.
template <class T, class O>
void fill_sorted(const product_pattern<O>& m, const product_values<T, O>& v, const sorted_lists& lists, bool columns,
                 cudaStream_t stream);

}  // namespace tulle::cuda
