// y = alpha A x + beta y for a range of rows, and the sum of a piece of a row, for the best instruction set.
#pragma once

#include <tulle/formats/views.hpp>

#include "cpu/spmv/arithmetic.hpp"
#include "cpu/spmv/isa.hpp"
#include "cpu/spmv/row_avx512.hpp"

namespace tulle::cpu {

/// The same work compiled for one instruction set.
template <scalar T, offset O>
struct row_functions {
  /// Writes y for the rows [first, last).
  void (*rows)(csr_view<T, O> a, index_t first, index_t last, epilogue<T> out, const T* x, T* y);
  /// The sum over the entries [begin, end) of one row.
  sum_of<T> (*piece)(csr_view<T, O> a, O begin, O end, const T* x);
};

template <scalar T, offset O>
void multiply_rows(csr_view<T, O> a, index_t first, index_t last, epilogue<T> out, const T* x, T* y) {
  for (index_t row = first; row < last; ++row) {
    out.store(y + row, row_sum(a.values, a.colind, x, a.rowptr[row], a.rowptr[row + 1]));
  }
}
template <scalar T, offset O>
sum_of<T> multiply_piece(csr_view<T, O> a, O begin, O end, const T* x) {
  return row_sum(a.values, a.colind, x, begin, end);
}

#if TULLE_X86
template <scalar T, offset O>
[[TULLE_AVX512]] void multiply_rows_avx512(csr_view<T, O> a, index_t first, index_t last, epilogue<T> out, const T* x,
                                           T* y) {
  for (index_t row = first; row < last; ++row) {
    out.store(y + row, row_sum_avx512(a.values, a.colind, x, a.rowptr[row], a.rowptr[row + 1]));
  }
}
template <scalar T, offset O>
[[TULLE_AVX512]] sum_of<T> multiply_piece_avx512(csr_view<T, O> a, O begin, O end, const T* x) {
  return row_sum_avx512(a.values, a.colind, x, begin, end);
}
#endif

/// Without AVX-512 the baseline's code is as fast as AVX2's, whose gathers are slower than single loads.
template <scalar T, offset O>
row_functions<T, O> best_row_functions(isa level) {
#if TULLE_X86
  if (level == isa::avx512) return {multiply_rows_avx512<T, O>, multiply_piece_avx512<T, O>};
#endif
  (void)level;
  return {multiply_rows<T, O>, multiply_piece<T, O>};
}

}  // namespace tulle::cpu
