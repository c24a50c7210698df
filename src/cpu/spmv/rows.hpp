// The sums of a range of rows, and of a piece of a row, for the best instruction set.
#pragma once

#include <cstdint>
#include <string_view>
#include <tulle/formats/views.hpp>
#include <type_traits>

#include "cpu/spmv/finish.hpp"
#include "cpu/spmv/isa.hpp"
#include "cpu/spmv/row_avx2.hpp"
#include "cpu/spmv/row_avx512.hpp"

namespace tulle::cpu {

/// How rows are summed. All but the first give the same bits. By length: in the order of row_order.hpp.
enum class row_path : std::uint8_t { plain, avx2, avx2_masked, avx2_by_length, avx512 };

constexpr row_path path_of(isa level) {
  return level == isa::avx512 ? row_path::avx512 : level == isa::avx2 ? row_path::avx2 : row_path::plain;
}
constexpr std::string_view name(row_path path) {
  constexpr std::string_view names[] = {"plain", "avx2", "avx2 masked", "avx2 by length", "avx512"};
  return names[static_cast<int>(path)];
}

/// What a Finish holds; a lambda holds references alone.
template <class Finish>
[[gnu::always_inline]] inline void put_back(Finish& to, const std::remove_const_t<Finish>& from) {
  if constexpr (std::is_copy_assignable_v<Finish>) to = from;
}

/// Where the rows from `first` on begin. Each offset is read once: what ends a row begins the next (Zen 3, rows of 5 and
/// of 17: 0.80 and 0.85 of the time of reading both).
template <scalar T, offset O>
[[gnu::always_inline]] inline O begin_of(const csr_view<T, O>& a, index_t first, index_t last) {
  return first < last ? a.rowptr[first] : O{0};
}

/// A Finish of its own keeps what it holds in registers: y could be any of it, as far as a compiler knows.
template <scalar T, offset O, scalar V, class Finish>
void multiply_rows(csr_view<T, O> a, index_t first, index_t last, const V* x, Finish& out) {
  Finish mine = out;
  O begin = begin_of(a, first, last);
  for (index_t row = first; row < last; ++row) {
    const O end = a.rowptr[row + 1];
    mine(row, row_sum(a.values, a.colind, x, begin, end));
    begin = end;
  }
  put_back(out, mine);
}

#if TULLE_X86
template <scalar T, offset O, scalar V, class Finish>
[[TULLE_AVX512]] void multiply_rows_avx512(csr_view<T, O> a, index_t first, index_t last, const V* x, Finish& out) {
  Finish mine = out;
  O begin = begin_of(a, first, last);
  for (index_t row = first; row < last; ++row) {
    const O end = a.rowptr[row + 1];
    mine(row, row_sum_avx512(a.values, a.colind, x, begin, end));
    begin = end;
  }
  put_back(out, mine);
}
template <scalar T, offset O, scalar V>
[[TULLE_AVX512]] sum_of<V> multiply_piece_avx512(csr_view<T, O> a, O begin, O end, const V* x) {
  return row_sum_avx512(a.values, a.colind, x, begin, end);
}
template <bool Masked, scalar T, offset O, scalar V, class Finish>
[[TULLE_AVX2FMA]] void multiply_rows_avx2(csr_view<T, O> a, index_t first, index_t last, const V* x, Finish& out) {
  Finish mine = out;
  O begin = begin_of(a, first, last);
  for (index_t row = first; row < last; ++row) {
    const O end = a.rowptr[row + 1];
    mine(row, row_sum_avx2<Masked>(a.values, a.colind, x, begin, end));
    begin = end;
  }
  put_back(out, mine);
}
template <scalar T, offset O, scalar V>
[[TULLE_AVX2FMA]] sum_of<V> multiply_piece_avx2(csr_view<T, O> a, O begin, O end, const V* x) {
  return row_sum_avx2<false>(a.values, a.colind, x, begin, end);
}
#endif

template <scalar T, offset O, scalar V, class Finish>
void multiply_rows_by(row_path path, csr_view<T, O> a, index_t first, index_t last, const V* x, Finish& out) {
#if TULLE_X86
  if (path == row_path::avx512) return multiply_rows_avx512(a, first, last, x, out);
  if constexpr (!std::same_as<V, std::int32_t>) {
    if (path == row_path::avx2_masked && a.cols > 0) return multiply_rows_avx2<true>(a, first, last, x, out);
    if (path != row_path::plain) return multiply_rows_avx2<false>(a, first, last, x, out);
  }
#endif
  (void)path;
  multiply_rows(a, first, last, x, out);
}

/// y = sum.
template <scalar V>
struct stored_sums {
  V* y;
  [[gnu::always_inline]] void operator()(index_t row, sum_of<V> sum) const { y[row] = static_cast<V>(sum); }
};

/// Hands the sums of the rows [first, last) to `out`. Where these are y, short rows take a quarter less without factors
/// and order.
template <scalar T, offset O, scalar V, class Finish>
void multiply_rows(row_path path, csr_view<T, O> a, index_t first, index_t last, const V* x, Finish& out) {
  if constexpr (std::same_as<Finish, scaled<V>>) {
    if (out.out.alpha == 1 && out.out.beta == 0 && out.order == nullptr) {
      stored_sums<V> store{out.y};
      return multiply_rows_by(path, a, first, last, x, store);
    }
  }
  multiply_rows_by(path, a, first, last, x, out);
}

/// The sum over the entries [begin, end) of one row.
template <scalar T, offset O, scalar V>
sum_of<V> multiply_piece(row_path path, csr_view<T, O> a, O begin, O end, const V* x) {
#if TULLE_X86
  if (path == row_path::avx512) return multiply_piece_avx512(a, begin, end, x);
  if constexpr (!std::same_as<V, std::int32_t>) {
    if (path != row_path::plain) return multiply_piece_avx2(a, begin, end, x);
  }
#endif
  (void)path;
  return row_sum(a.values, a.colind, x, begin, end);
}

}  // namespace tulle::cpu
