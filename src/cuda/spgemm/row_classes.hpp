// Sorts the rows of C by how they are to be made.
#pragma once

#include "cuda/runtime/host_report.cuh"
#include "cuda/spgemm/product_rows.cuh"

namespace tulle::cuda {

/// Where the classes of rows go.
struct class_sink {
  std::uint8_t* classes;         // of each row; or null
  index_t* lists;                // the rows of class c from c * rows on, blocks of neighbours together; or null
  index_t* counts;               // rows of each class are added here, row_classes of them
  unsigned long long* products;  // and all products here
  index_t* entries;              // 0 for a row without a product, and behind the last row
};

/// Gives every row a class below first_classes by its number of products: sorted_N up to largest_sorted (128 to 512)
/// products. Where the check is bad every row counts as empty. Only up to most_listed rows have lists.
void classify_rows(const product_ref& p, double mean_row, int largest_sorted, const operand_check& check,
                   const class_sink& out, cudaStream_t stream);
constexpr index_t most_listed = 4096;

/// Lists the rows by class: those of class c from begins[c] on, which is set to the exclusive sum of `counts`. Rows of
/// a class lie in blocks of neighbours. `from`: the rows to list. `cursors`: row_classes zeroed numbers. `report`
/// happens on the way.
void list_rows(const row_list& from, const std::uint8_t* classes, const index_t* counts, index_t* cursors,
               index_t* begins, index_t* list, const word_copy& report, cudaStream_t stream);

/// Exclusive sum of the entries of up to most_listed rows in place, their sum behind them and to *all; then the report.
void scan_listed(index_t rows, index_t* entries, long long* all, const word_copy& report, cudaStream_t stream);

/// Adds the rows of each class among `from` to `counts`.
void count_classes(const row_list& from, const std::uint8_t* classes, index_t* counts, cudaStream_t stream);

}  // namespace tulle::cuda
