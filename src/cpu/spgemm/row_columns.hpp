// The columns of C's rows, found without values: by sorting, in a hash table, or in a window of bits.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/spgemm/compressed_rows.hpp"
#include "cpu/spgemm/hash_table.hpp"
#include "cpu/spgemm/lists_avx2.hpp"
#include "cpu/spgemm/row_product.hpp"
#include "cpu/spgemm/tiny_avx512.hpp"
#include "cpu/spgemm/window.hpp"

namespace tulle::cpu {

/// What one thread finds them with.
template <scalar T, offset O>
struct row_columns {
  const row_product<T, O>& p;
  const compressed_rows& words;  // of B; may be empty
  window<T> wide;
  hash_table<T> table;
  list_space list;  // without AVX2: none
  isa set;

  /// Writes the columns of row i, which has so many products, in order. Returns how many there are. There is room for
  /// kept_columns::slack more.
  std::int64_t find(row_kind kind, index_t i, std::int64_t products, index_t* colind) const {
    switch (kind) {
      case row_kind::tiny:
        return by_sorting(i, products, colind);
      case row_kind::hash:
        return table.columns(p, i, colind);
      default:
        if (list.numbers == nullptr) return words.empty() ? by_columns(i, colind) : by_words(i, colind);
        if (!words.empty()) return by_listed_words(i, colind);
        return products <= most_listed ? by_list(i, colind) : by_columns(i, colind);
    }
  }

 private:
  std::int64_t by_sorting(index_t i, std::int64_t products, index_t* colind) const {
#if TULLE_X86
    if (set == isa::avx512) return tiny_columns_avx512(p, i, products, colind);
#endif
    (void)products;
    index_t sorted[most_inserted];
    std::int64_t size = 0;
    p.for_each_column(i, [&](index_t column) {
      std::int64_t at = size++;
      for (; at > 0 && sorted[at - 1] > column; --at) sorted[at] = sorted[at - 1];
      sorted[at] = column;
    });
    return std::unique_copy(sorted, sorted + size, colind) - colind;
  }

  std::int64_t take(index_t base, column_span marked, index_t* colind) const {
#if TULLE_X86
    if (set == isa::avx512) return take_avx512(wide, base, marked, colind);
    if (list.numbers != nullptr) return take_avx2(wide, base, marked, colind);
#endif
    return wide.take(base, marked, colind);
  }

  /// The columns that the windows must cover: all where one window does.
  [[nodiscard]] column_span to_cover(index_t i) const {
    return p.b.cols <= widest_window ? column_span{0, p.b.cols - 1} : span_of(p, i);
  }

  std::int64_t by_columns(index_t i, index_t* colind) const {
    const csr_view<T, O>& b = p.b;
    const window<T> w = wide;  // a copy: stores to its flags might be to what `this` points at
    const auto row = [&](index_t r) { return row_span{b.colind, b.rowptr[r], b.rowptr[r + 1]}; };
    return mark_and_take(i, 0, row, colind,
                         [&](index_t at, std::int64_t) { w.mark(at >> 6, std::uint64_t{1} << (at & 63)); });
  }

  /// In registers, or where they are many by bits, which are set once for each.
  std::int64_t by_list([[maybe_unused]] index_t i, [[maybe_unused]] index_t* colind) const {
    std::int64_t n = 0;
#if TULLE_X86
    n = list_columns_avx2(p, i, list);
    if (n <= longest_sorted) {
      sort_list_avx2(list.numbers, n, colind);
      return n;
    }
    const window<T> w = wide;
    column_span marked;
    for (std::int64_t k = 0; k < n; ++k) {
      const index_t column = list.numbers[k];
      w.mark(column >> 6, std::uint64_t{1} << (column & 63));
      marked.include(column, column);
    }
    n = take(0, marked, colind);
#endif
    return n;
  }

  std::int64_t by_listed_words([[maybe_unused]] index_t i, [[maybe_unused]] index_t* colind) const {
    std::int64_t n = 0;
#if TULLE_X86
    listed_words listed{wide.words, list.numbers};
    const csr_view<T, O>& a = p.a;
    const index_t* const indices = words.indices.data();
    const std::uint64_t* const bits = words.bits.data();
    const std::int64_t* const offsets = words.offsets.data();
    for (O k = a.rowptr[i], end = a.rowptr[i + 1]; k < end; ++k) {
      const index_t r = a.colind[k];
      for (std::int64_t l = offsets[r], last = offsets[r + 1]; l < last; ++l) listed.mark(indices[l], bits[l]);
    }
    if (listed.size <= longest_sorted) return listed.take(colind);
    column_span marked;
    for (std::int64_t k = 0; k < listed.size; ++k) {
      wide.groups[list.numbers[k]] = 1;
      marked.include(64 * list.numbers[k], 64 * list.numbers[k]);
    }
    n = take(0, marked, colind);
#endif
    return n;
  }

  std::int64_t by_words(index_t i, index_t* colind) const {
    const window<T> w = wide;
    const std::uint64_t* bits = words.bits.data();
    const std::int64_t* offsets = words.offsets.data();
    const auto row = [&](index_t r) { return row_span{words.indices.data(), offsets[r], offsets[r + 1]}; };
    return mark_and_take(i, 6, row, colind, [&](index_t word, std::int64_t l) { w.mark(word, bits[l]); });
  }

  /// Sorted numbers of columns, or of words.
  struct row_span {
    const index_t* indices;
    std::int64_t begin, end;
  };

  /// Window after window: mark(number - the window's first, l) for all in the rows of B, then the columns are taken.
  /// Numbers are columns >> shift.
  template <class Row, class Mark>
  std::int64_t mark_and_take(index_t i, int shift, Row row, index_t* colind, Mark mark) const {
    const csr_view<T, O>& a = p.a;
    const column_span span = to_cover(i);
    std::int64_t n = 0;
    for (std::int64_t from = span.first & ~63; from <= span.last; from += widest_window) {
      const auto base = static_cast<index_t>(from), first = base >> shift;
      const auto last = static_cast<index_t>(std::min<std::int64_t>(from + widest_window - 1, span.last)) >> shift;
      column_span marked;
      for (O k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) {
        row_span of = row(a.colind[k]);
        if (span.size() > widest_window - 63) {
          of.begin = std::lower_bound(of.indices + of.begin, of.indices + of.end, first) - of.indices;
          of.end = std::upper_bound(of.indices + of.begin, of.indices + of.end, last) - of.indices;
        }
        if (of.begin == of.end) continue;
        marked.include((of.indices[of.begin] - first) << shift, (of.indices[of.end - 1] - first) << shift);
        for (std::int64_t l = of.begin; l < of.end; ++l) mark(of.indices[l] - first, l);
      }
      n += take(base, marked, colind + n);
    }
    return n;
  }
};

}  // namespace tulle::cpu
