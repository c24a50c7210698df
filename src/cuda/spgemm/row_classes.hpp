// Sorts the rows of C by how they are to be made.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda/spgemm/product_rows.cuh"

namespace tulle::cuda {

/// Gives every row a class below first_classes by its number of products, and adds the rows of each class to `counts`
/// (zeroed, row_classes long, on the device) and all products to `products`. Rows without a product get their count of
/// 0 entries here.
template <class O>
void classify_rows(const product_pattern<O>& m, double mean_row, std::uint8_t* classes, index_t* counts,
                   unsigned long long* products, index_t* entries, cudaStream_t stream);

/// Lists the rows by class: those of class c from begins[c] on, which is set to the exclusive sum of `counts`. Rows of
/// a class lie in blocks of neighbours. `from`: the rows to list. `cursors`: row_classes zeroed numbers.
void list_rows(const row_list& from, const std::uint8_t* classes, const index_t* counts, index_t* cursors,
               index_t* begins, index_t* list, cudaStream_t stream);

/// Adds the rows of each class among `from` to `counts`.
void count_classes(const row_list& from, const std::uint8_t* classes, index_t* counts, cudaStream_t stream);

}  // namespace tulle::cuda
