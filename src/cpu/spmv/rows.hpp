// The sums of a range of rows, and of a piece of a row, for the best instruction set.
#pragma once

#include <tulle/formats/views.hpp>

#include "cpu/spmv/finish.hpp"
#include "cpu/spmv/isa.hpp"
#include "cpu/spmv/row_avx2.hpp"
#include "cpu/spmv/row_avx512.hpp"

namespace tulle::cpu {

template <scalar T, offset O, scalar V, class Finish>
void multiply_rows(csr_view<T, O> a, index_t first, index_t last, const V* x, Finish& out) {
  for (index_t row = first; row < last; ++row) {
    out(row, row_sum(a.values, a.colind, x, a.rowptr[row], a.rowptr[row + 1]));
  }
}

#if TULLE_X86
template <scalar T, offset O, scalar V, class Finish>
[[TULLE_AVX512]] void multiply_rows_avx512(csr_view<T, O> a, index_t first, index_t last, const V* x, Finish& out) {
  for (index_t row = first; row < last; ++row) {
    out(row, row_sum_avx512(a.values, a.colind, x, a.rowptr[row], a.rowptr[row + 1]));
  }
}
template <scalar T, offset O, scalar V>
[[TULLE_AVX512]] sum_of<V> multiply_piece_avx512(csr_view<T, O> a, O begin, O end, const V* x) {
  return row_sum_avx512(a.values, a.colind, x, begin, end);
}
template <scalar T, offset O, scalar V, class Finish>
[[TULLE_AVX2]] void multiply_rows_avx2(csr_view<T, O> a, index_t first, index_t last, const V* x, Finish& out) {
  for (index_t row = first; row < last; ++row) {
    out(row, row_sum_avx2(a.values, a.colind, x, a.rowptr[row], a.rowptr[row + 1]));
  }
}
template <scalar T, offset O, scalar V>
[[TULLE_AVX2]] sum_of<V> multiply_piece_avx2(csr_view<T, O> a, O begin, O end, const V* x) {
  return row_sum_avx2(a.values, a.colind, x, begin, end);
}
#endif

/// Hands the sums of the rows [first, last) to `out`. AVX2 and AVX-512 give the same bits.
template <scalar T, offset O, scalar V, class Finish>
void multiply_rows(isa level, csr_view<T, O> a, index_t first, index_t last, const V* x, Finish& out) {
#if TULLE_X86
  if (level == isa::avx512) return multiply_rows_avx512(a, first, last, x, out);
  if constexpr (!std::same_as<V, std::int32_t>) {
    if (level == isa::avx2) return multiply_rows_avx2(a, first, last, x, out);
  }
#endif
  (void)level;
  multiply_rows(a, first, last, x, out);
}

/// The sum over the entries [begin, end) of one row.
template <scalar T, offset O, scalar V>
sum_of<V> multiply_piece(isa level, csr_view<T, O> a, O begin, O end, const V* x) {
#if TULLE_X86
  if (level == isa::avx512) return multiply_piece_avx512(a, begin, end, x);
  if constexpr (!std::same_as<V, std::int32_t>) {
    if (level == isa::avx2) return multiply_piece_avx2(a, begin, end, x);
  }
#endif
  (void)level;
  return row_sum(a.values, a.colind, x, begin, end);
}

}  // namespace tulle::cpu
