// What the CPU SpGEMM kernels read, row by row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "cpu/spmv/arithmetic.hpp"
#include "kernels/spgemm.hpp"

namespace tulle::cpu {

/// How the columns of a row of C are found. repeat: they are those of the row before; shifted: each is one further;
/// alike and above: those of an earlier row but for a shift, all rows of one such kind. The others: see gustavson.cpp.
enum class row_kind : std::uint8_t { single, repeat, shifted, tiny, window, hash, wide, alike };

/// How many kinds there are from alike on.
inline constexpr int most_alike = 128;

constexpr row_kind alike_kind(int number) { return static_cast<row_kind>(static_cast<int>(row_kind::alike) + number); }
/// The number of an alike kind.
constexpr int alike_number(row_kind kind) { return static_cast<int>(kind) - static_cast<int>(row_kind::alike); }

/// Columns of the widest window.
inline constexpr index_t widest_window = 1 << 19;
/// Columns of a wider span for an entry up to which windows are cheaper than a hash table.
inline constexpr std::int64_t sparse_span = 16;

/// The most products of a tiny row, by insertion and by sorting networks.
inline constexpr std::int64_t most_inserted = 32;
inline constexpr std::int64_t tiny_products = 64;

/// The most entries in A and products of a shifted row.
inline constexpr std::int64_t most_shifted_entries = 64;
inline constexpr std::int64_t most_shifted_products = 2048;

/// Columns first .. last; none when last < first.
struct column_span {
  index_t first = std::numeric_limits<index_t>::max();
  index_t last = -1;

  [[nodiscard]] std::int64_t size() const { return std::int64_t{last} - first + 1; }
  void include(index_t from, index_t to) {
    first = std::min(first, from);
    last = std::max(last, to);
  }
};

/// alpha A B. The value pointers of the views are those to use.
template <scalar T, offset O>
struct row_product {
  using sum = sum_of<T>;
  csr_view<T, O> a, b;
  sum alpha = 1;
  bool fetches_ahead = false;  // the rows of B that are read next

  /// The same pattern with other numbers.
  [[nodiscard]] row_product with(const spgemm_values& v) const {
    row_product p = *this;
    p.a.values = static_cast<const T*>(v.a);
    p.b.values = static_cast<const T*>(v.b);
    p.alpha = static_cast<sum>(static_cast<T>(v.alpha));
    return p;
  }
  /// At entry k of A: begins to read what the entries 16 and 8 further will want.
  [[gnu::always_inline]] void fetch_ahead(O k, O last, bool values) const {
    __builtin_prefetch(b.rowptr + a.colind[std::min<O>(k + 16, last)]);
    const O next = b.rowptr[a.colind[std::min<O>(k + 8, last)]];
    __builtin_prefetch(b.colind + next);
    if (values) __builtin_prefetch(b.values + next);
  }
  [[nodiscard, gnu::always_inline]] O last_of_a() const { return a.rowptr[a.rows] - 1; }

  [[nodiscard, gnu::always_inline]] sum scale(O k) const { return alpha * static_cast<sum>(a.values[k]); }
  /// A factor times an entry of B.
  [[nodiscard, gnu::always_inline]] sum times_b(sum factor, O l) const {
    return factor * static_cast<sum>(b.values[l]);
  }

  /// f(column, alpha a_ik b_kj) for the products of row i, in the order of A's entries.
  template <class F>
  [[gnu::always_inline]] void for_each_product(index_t i, F f) const {
    for (O k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) {
      const sum factor = scale(k);
      const index_t r = a.colind[k];
      for (O l = b.rowptr[r]; l < b.rowptr[r + 1]; ++l) f(b.colind[l], times_b(factor, l));
    }
  }
  /// f(column) for the products of row i.
  template <class F>
  [[gnu::always_inline]] void for_each_column(index_t i, F f) const {
    for (O k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) {
      const index_t r = a.colind[k];
      for (O l = b.rowptr[r]; l < b.rowptr[r + 1]; ++l) f(b.colind[l]);
    }
  }

  /// sums[column] += alpha a_ik b_kj for the products of row i.
  [[gnu::always_inline]] void add_to(index_t i, sum* sums) const {
    fetches_ahead ? add_to<true>(i, sums) : add_to<false>(i, sums);
  }
  template <bool Ahead>
  [[gnu::always_inline]] void add_to(index_t i, sum* sums) const {
    const sum factor = alpha;
    const O end = a.rowptr[i + 1], last_entry = last_of_a();
    for (O k = a.rowptr[i]; k < end; ++k) {
      if constexpr (Ahead) fetch_ahead(k, last_entry, true);
      const sum scale = factor * static_cast<sum>(a.values[k]);
      const O* row = b.rowptr + a.colind[k];
      const index_t *column = b.colind + row[0], *last = b.colind + row[1];
      for (const T* value = b.values + row[0]; column != last; ++column, ++value) {
        sums[static_cast<std::uint32_t>(*column)] += scale * static_cast<sum>(*value);
      }
    }
  }
  [[nodiscard, gnu::always_inline]] std::int64_t products(index_t i) const {
    std::int64_t n = 0;
    for (O k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) n += b.rowptr[a.colind[k] + 1] - b.rowptr[a.colind[k]];
    return n;
  }
  /// f(base, last, for_each) for the windows that cover a span; for_each(g) calls g(column - base, entry of B, alpha
  /// a_ik) for the products of row i in columns base .. last (and, where one window covers the span, those outside, if
  /// there are any).
  template <class F>
  [[gnu::always_inline]] void for_each_window(index_t i, column_span span, F f) const {
    if (span.size() <= widest_window) {
      f(span.first, span.last, [&](auto g) {
        for (O k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) {
          const sum factor = scale(k);
          const O end = b.rowptr[a.colind[k] + 1];
          for (O l = b.rowptr[a.colind[k]]; l < end; ++l) g(b.colind[l] - span.first, l, factor);
        }
      });
      return;
    }
    for (std::int64_t from = span.first; from <= span.last; from += widest_window) {
      const auto base = static_cast<index_t>(from);
      const auto last = static_cast<index_t>(std::min<std::int64_t>(from + widest_window - 1, span.last));
      f(base, last, [&](auto g) {
        for (O k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) {
          const sum factor = scale(k);
          const index_t r = a.colind[k];
          const index_t *begin = b.colind + b.rowptr[r], *end = b.colind + b.rowptr[r + 1];
          for (const index_t* at = std::lower_bound(begin, end, base); at != end && *at <= last; ++at) {
            g(*at - base, static_cast<O>(at - b.colind), factor);
          }
        }
      });
    }
  }
};

/// The columns of the products of row i.
template <scalar T, offset O>
[[gnu::always_inline]] inline column_span span_of(const row_product<T, O>& p, index_t i) {
  column_span span;
  for (O k = p.a.rowptr[i]; k < p.a.rowptr[i + 1]; ++k) {
    const O begin = p.b.rowptr[p.a.colind[k]], end = p.b.rowptr[p.a.colind[k] + 1];
    if (begin < end) span.include(p.b.colind[begin], p.b.colind[end - 1]);
  }
  return span;
}

}  // namespace tulle::cpu
