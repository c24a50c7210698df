// From the entries of a file to a CSR with sorted rows, symmetry expanded and duplicates summed.
#pragma once

#include <tulle/formats/matrices.hpp>

#include "io/matrix_market_entries.hpp"

namespace tulle::matrix_market {

/// Rows sorted by column; duplicates side by side in the order of the file. The same for any number of threads.
/// E: a pattern_entry, whose values are 1, or a valued_entry<T>. `repeats` says
/// whether a row may have a column twice.
template <scalar T, class E>
csr<T> assemble_coordinates(const context& ctx, const header& h, const entry_list<E>& list, bool& repeats);

/// Every element of the array, zeros included.
template <scalar T>
csr<T> assemble_array(const context& ctx, const header& h, value_list<T> values);

/// Where the entries of a matrix with sorted rows repeat.
struct duplicates {
  std::int64_t count = 0;       // entries that summing removes
  std::int64_t lower = 0;       // those of them on or below the diagonal
  std::int64_t first_row = -1;  // of the first duplicate, in row order
  std::int64_t first_col = -1;
};
template <scalar T>
duplicates find_duplicates(const context& ctx, const csr<T>& a);

/// Duplicates whose sum T cannot hold, though it holds every one of them.
struct overflows {
  std::int64_t count = 0;
  std::int64_t lower = 0;  // on or below the diagonal
  std::int64_t first_row = -1;
  std::int64_t first_col = -1;
};
/// The matrix with duplicates added up in their order.
template <scalar T>
csr<T> sum_duplicates(const context& ctx, const csr<T>& a, overflows& found);

}  // namespace tulle::matrix_market
