// Several vectors by rows or by columns with room between, a matrix of rows of all lengths for them, and its exact
// product: small integers, whose sums are exact in any order.
#pragma once

#include <cstdint>
#include <string>
#include <tulle/tulle.hpp>
#include <type_traits>
#include <vector>

#include "support/plain_csr.hpp"

namespace tulle::test {

/// A small integer for each entry.
inline void add_values(plain_csr<>& m) {
  for (std::size_t k = 0; k < m.colind.size(); ++k) m.values.push_back(static_cast<double>(k * 7 % 11) - 5);
}

/// Rows of 0 to 40 entries and one of all columns; with `long_rows` some of a third of the columns as well.
inline plain_csr<> uneven(index_t rows, index_t cols, bool long_rows) {
  plain_csr<> m{0, cols};
  for (index_t r = 0; r < rows; ++r) {
    const index_t length = r == rows / 2              ? cols
                           : long_rows && r % 97 == 0 ? cols / 3
                           : r % 7 == 0               ? 0
                                                      : 1 + r * 13 % 40;
    std::vector<index_t> columns;
    for (index_t k = 0; k < length; ++k) columns.push_back(static_cast<index_t>((std::int64_t{r} * 31 + k) % cols));
    m.add_row(columns);
  }
  add_values(m);
  return m;
}

inline double x_at(index_t i, index_t j) { return static_cast<double>((std::int64_t{i} * 5 + j * 3) % 13) - 6; }
inline double y_at(index_t i, index_t j) { return static_cast<double>((std::int64_t{i} + j) % 9) - 4; }

/// Where the elements of `count` vectors of `rows` are.
struct many_layout {
  index_t rows, count;
  vector_order order;
  index_t gap;  // elements between rows or vectors

  [[nodiscard]] bool by_row() const { return order == vector_order::row_major; }
  [[nodiscard]] std::int64_t ld() const { return (by_row() ? count : rows) + gap; }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(ld() * (by_row() ? rows : count)); }
  [[nodiscard]] std::size_t at(index_t i, index_t j) const {
    return static_cast<std::size_t>(by_row() ? i * ld() + j : i + j * ld());
  }
  /// f(i, j), and 77 between.
  template <class T, class F>
  [[nodiscard]] std::vector<T> filled(const F& f) const {
    std::vector<T> out(size(), T{77});
    for (index_t i = 0; i < rows; ++i) {
      for (index_t j = 0; j < count; ++j) out[at(i, j)] = static_cast<T>(f(i, j));
    }
    return out;
  }
  template <class T>
  [[nodiscard]] multivector_view<T> view(T* data, memory_space space) const {
    return {rows, count, ld(), order, data, space};
  }
  template <class T>
  [[nodiscard]] auto ref(T* data, memory_space space) const {
    using ref = std::conditional_t<std::is_const_v<T>, const_multivector_ref, multivector_ref>;
    return ref(scalar_type_of<std::remove_const_t<T>>, rows, count, ld(), order, data, space);
  }
};

/// A X for X of x_at, where Y of `out` is.
inline std::vector<double> products(const plain_csr<>& m, const many_layout& out) {
  std::vector<double> sums(out.size());
  for (index_t i = 0; i < m.rows; ++i) {
    for (auto k = m.rowptr[static_cast<std::size_t>(i)]; k < m.rowptr[static_cast<std::size_t>(i) + 1]; ++k) {
      const auto e = static_cast<std::size_t>(k);
      for (index_t j = 0; j < out.count; ++j) sums[out.at(i, j)] += m.values[e] * x_at(m.colind[e], j);
    }
  }
  return sums;
}

}  // namespace tulle::test
