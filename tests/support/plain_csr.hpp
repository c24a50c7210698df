// CSR matrices in plain vectors on the host.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <tulle/core/buffer.hpp>
#include <tulle/formats/convert.hpp>
#include <tulle/formats/matrix_ref.hpp>
#include <vector>

namespace tulle::test {

template <class T = double, class O = std::int64_t>
struct plain_csr {
  index_t rows = 0;
  index_t cols = 0;
  std::vector<O> rowptr{0};
  std::vector<index_t> colind = {};
  std::vector<T> values = {};

  [[nodiscard]] O nnz() const { return static_cast<O>(colind.size()); }
  [[nodiscard]] O length(index_t r) const { return rowptr[r + 1] - rowptr[r]; }
  /// A row with these columns; the caller adds as many values.
  void add_row(const std::vector<index_t>& columns) {
    colind.insert(colind.end(), columns.begin(), columns.end());
    rowptr.push_back(nnz());
    ++rows;
  }
  [[nodiscard]] csr_view<T, O> view() const {
    return {rows, cols, nnz(), rowptr.data(), colind.data(), values.data(), memory_space::host};
  }
  /// A copy in the memory of a context.
  [[nodiscard]] csr<T, O> on(const context& ctx) const { return clone(ctx, view()); }
  friend bool operator==(const plain_csr&, const plain_csr&) = default;
};

template <class T>
plain_csr<T> diagonal_matrix(const std::vector<T>& values) {
  const auto n = static_cast<index_t>(values.size());
  plain_csr<T> m{0, n, {0}, {}, values};
  while (m.rows < n) m.add_row({m.rows});
  return m;
}

/// `count` numbers of a context's memory.
template <class T>
std::vector<T> read_array(const context& ctx, const void* from, std::int64_t count) {
  std::vector<T> to(static_cast<std::size_t>(count));
  copy_bytes(ctx, to.data(), memory_space::host, from, ctx.space(), to.size() * sizeof(T));
  return to;
}
/// A CSR of this value type.
template <scalar T = double>
plain_csr<T> plain(const context& ctx, const matrix_ref& a) {
  plain_csr<T> out{a.rows, a.cols, {}, read_array<index_t>(ctx, a.colind, a.nnz), read_array<T>(ctx, a.values, a.nnz)};
  if (a.types.offset == offset_type::i64) {
    out.rowptr = read_array<std::int64_t>(ctx, a.rowptr, a.rows + std::int64_t{1});
  } else {
    const auto narrow = read_array<std::int32_t>(ctx, a.rowptr, a.rows + std::int64_t{1});
    out.rowptr.assign(narrow.begin(), narrow.end());
  }
  return out;
}
template <scalar T, offset O>
plain_csr<T> plain(const context& ctx, const csr<T, O>& a) {
  return plain<T>(ctx, matrix_ref(a));
}
template <scalar T, offset O>
plain_csr<T> plain(const csr<T, O>& host) {
  return plain(context::cpu(1), host);
}

/// With the rows of each column in order.
template <class T, class O>
plain_csr<T, O> transposed(const plain_csr<T, O>& m) {
  plain_csr<T, O> t{m.cols, m.rows, std::vector<O>(static_cast<std::size_t>(m.cols) + 1), m.colind, m.values};
  for (const index_t column : m.colind) ++t.rowptr[static_cast<std::size_t>(column) + 1];
  std::partial_sum(t.rowptr.begin(), t.rowptr.end(), t.rowptr.begin());
  std::vector<O> next(t.rowptr.begin(), t.rowptr.end() - 1);
  for (index_t row = 0; row < m.rows; ++row) {
    for (O k = m.rowptr[row]; k < m.rowptr[row + 1]; ++k) {
      const O at = next[static_cast<std::size_t>(m.colind[k])]++;
      t.colind[at] = row;
      t.values[at] = m.values[k];
    }
  }
  return t;
}

/// Modulo 2^32 for integers.
template <class T>
T wrapped_sum(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
  return a + b;
}
/// The entries of each row in order of their columns, those of one column as they were.
template <class T, class O>
plain_csr<T, O> sorted(const plain_csr<T, O>& m) {
  return transposed(transposed(m));
}
/// In order, with duplicates added up as they were stored.
template <class T, class O>
plain_csr<T, O> summed(const plain_csr<T, O>& m) {
  const plain_csr<T, O> from = sorted(m);
  plain_csr<T, O> out{0, m.cols};
  for (index_t r = 0; r < m.rows; ++r) {
    std::vector<index_t> columns;
    for (O k = from.rowptr[r]; k < from.rowptr[r + 1]; ++k) {
      if (!columns.empty() && columns.back() == from.colind[k]) {
        out.values.back() = wrapped_sum(out.values.back(), from.values[k]);
      } else {
        columns.push_back(from.colind[k]);
        out.values.push_back(from.values[k]);
      }
    }
    out.add_row(columns);
  }
  return out;
}
/// An element of a matrix whose rows are in order, without duplicates: 0 where there is none.
template <class T, class O>
T value_at(const plain_csr<T, O>& m, index_t row, index_t column) {
  const auto begin = m.colind.begin() + m.rowptr[row], end = m.colind.begin() + m.rowptr[row + 1];
  const auto at = std::lower_bound(begin, end, column);
  return at != end && *at == column ? m.values[static_cast<std::size_t>(at - m.colind.begin())] : T{0};
}
/// The same pattern with the positions of the entries in place of their values.
template <class T, class O>
plain_csr<std::int32_t, O> positions_in(const plain_csr<T, O>& m) {
  plain_csr<std::int32_t, O> out{m.rows, m.cols, m.rowptr, m.colind, std::vector<std::int32_t>(m.colind.size())};
  std::iota(out.values.begin(), out.values.end(), 0);
  return out;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}
/// The same bits, but for NaN, of which any equals any other.
template <class T>
bool same_numbers(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const T& x, const T& y) { return (x != x && y != y) || std::memcmp(&x, &y, sizeof(T)) == 0; });
}
template <class T, class O>
bool same_bits(const plain_csr<T, O>& a, const plain_csr<T, O>& b) {
  return a.rows == b.rows && a.cols == b.cols && a.rowptr == b.rowptr && a.colind == b.colind &&
         same_bits(a.values, b.values);
}

}  // namespace tulle::test
