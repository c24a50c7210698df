// Small matrices on the host, and C = M o (alpha A B) + beta D of them by its definition, in long double.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tulle/tulle.hpp>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace tulle::test {

template <class T, class O>
struct sparse {
  index_t rows = 0;
  index_t cols = 0;
  std::vector<O> rowptr{0};
  std::vector<index_t> colind;
  std::vector<T> values;

  [[nodiscard]] csr_view<T, O> view() const {
    return {rows, cols, static_cast<O>(values.size()), rowptr.data(), colind.data(), values.data(), memory_space::host};
  }
  [[nodiscard]] csr<T, O> owned(const context& ctx) const {
    return {rows, cols, to_buffer<O>(ctx, rowptr), to_buffer<index_t>(ctx, colind), to_buffer<T>(ctx, values)};
  }
};

enum class rows_are { increasing, shuffled, repeating };

/// About `a_row` entries a row, every fifth row empty. `repeating`: in no order, with duplicates.
template <class T = double, class O = std::int64_t>
sparse<T, O> random_sparse(index_t rows, index_t cols, index_t a_row, unsigned seed,
                           rows_are order = rows_are::increasing) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  sparse<T, O> m;
  m.rows = rows;
  m.cols = cols;
  for (index_t i = 0; i < rows; ++i) {
    std::vector<index_t> columns;
    for (index_t k = 0; cols > 0 && i % 5 != 4 && k < a_row; ++k) {
      columns.push_back(std::uniform_int_distribution<index_t>(0, cols - 1)(random));
    }
    if (order != rows_are::repeating) {
      const std::set<index_t> distinct(columns.begin(), columns.end());
      columns.assign(distinct.begin(), distinct.end());
    }
    if (order == rows_are::shuffled) std::shuffle(columns.begin(), columns.end(), random);
    for (const index_t c : columns) {
      m.colind.push_back(c);
      m.values.push_back(static_cast<T>(value(random)));
    }
    m.rowptr.push_back(static_cast<O>(m.colind.size()));
  }
  return m;
}

template <class T, class O>
sparse<T, O> transposed(const sparse<T, O>& a) {
  sparse<T, O> t;
  t.rows = a.cols;
  t.cols = a.rows;
  for (index_t j = 0; j < a.cols; ++j) {
    for (index_t i = 0; i < a.rows; ++i) {
      for (O k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) {
        if (a.colind[k] != j) continue;
        t.colind.push_back(i);
        t.values.push_back(a.values[k]);
      }
    }
    t.rowptr.push_back(static_cast<O>(t.colind.size()));
  }
  return t;
}

/// One entry of C: its value, the same of absolute values, and how many terms it has.
struct exact_entry {
  long double sum = 0;
  long double magnitude = 0;
  int terms = 0;
  void add(long double term) {
    sum += term;
    magnitude += std::abs(term);
    ++terms;
  }
};
using exact_matrix = std::map<std::pair<index_t, index_t>, exact_entry>;

template <class T, class O>
exact_matrix exact_product(const sparse<T, O>& a, const sparse<T, O>& b, T alpha = 1,
                           const sparse<T, O>* mask = nullptr, T beta = 0, const sparse<T, O>* d = nullptr) {
  std::set<std::pair<index_t, index_t>> kept;
  if (mask != nullptr) {
    for (index_t i = 0; i < mask->rows; ++i) {
      for (O k = mask->rowptr[i]; k < mask->rowptr[i + 1]; ++k) kept.emplace(i, mask->colind[k]);
    }
  }
  exact_matrix c;
  for (index_t i = 0; i < a.rows; ++i) {
    for (O k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) {
      const index_t r = a.colind[k];
      for (O l = b.rowptr[r]; l < b.rowptr[r + 1]; ++l) {
        if (mask != nullptr && !kept.contains({i, b.colind[l]})) continue;
        c[{i, b.colind[l]}].add(static_cast<long double>(alpha) * a.values[k] * b.values[l]);
      }
    }
    for (O k = d ? d->rowptr[i] : 0; d && k < d->rowptr[i + 1]; ++k) {
      c[{i, d->colind[k]}].add(static_cast<long double>(beta) * d->values[k]);
    }
  }
  return c;
}

/// Within gamma(n + 2) of the sum of absolute values.
template <class T>
void expect_value(T value, const exact_matrix::value_type& expected) {
  const auto& [place, e] = expected;
  const long double u = std::numeric_limits<T>::epsilon() / 2, n = e.terms + 2;
  EXPECT_LE(std::abs(value - e.sum), n * u / (1 - n * u) * e.magnitude)
      << "entry " << place.first << ", " << place.second;
}

/// The pattern exactly, sorted, and every value.
template <class T>
void expect_product(const any_csr<T>& c, shape s, const exact_matrix& exact) {
  std::visit(
      [&]<class O>(const csr<T, O>& m) {
        ASSERT_EQ(m.rows, s.rows);
        ASSERT_EQ(m.cols, s.cols);
        ASSERT_EQ(static_cast<std::size_t>(m.nnz()), exact.size());
        ASSERT_EQ(m.rowptr.data()[m.rows], m.nnz());
        auto expected = exact.begin();
        for (index_t i = 0; i < m.rows; ++i) {
          for (O k = m.rowptr.data()[i]; k < m.rowptr.data()[i + 1]; ++k, ++expected) {
            ASSERT_EQ(std::pair(i, m.colind.data()[k]), expected->first);
            expect_value(m.values.data()[k], *expected);
          }
        }
      },
      c);
}

/// Offsets, columns and the bits of the values.
template <class T>
bool same_bits(const any_csr<T>& x, const any_csr<T>& y) {
  const auto same = [](const auto& p, const auto& q) {
    return p.size() == q.size() && (p.empty() || std::memcmp(p.data(), q.data(), p.bytes()) == 0);
  };
  return std::visit(
      [&]<class O>(const csr<T, O>& a) {
        const auto* b = std::get_if<csr<T, O>>(&y);
        return b != nullptr && a.rows == b->rows && a.cols == b->cols && same(a.rowptr, b->rowptr) &&
               same(a.colind, b->colind) && same(a.values, b->values);
      },
      x);
}

/// C on the host, from the memory of a context.
template <class T>
any_csr<T> on_host(const context& ctx, const any_csr<T>& c) {
  return std::visit(
      [&]<class O>(const csr<T, O>& m) -> any_csr<T> {
        const context cpu = context::cpu();
        return csr<T, O>{m.rows, m.cols, to_buffer<O>(cpu, to_vector(ctx, m.rowptr)),
                         to_buffer<index_t>(cpu, to_vector(ctx, m.colind)),
                         to_buffer<T>(cpu, to_vector(ctx, m.values))};
      },
      c);
}

template <class T>
std::size_t bytes_of(const any_csr<T>& c) {
  return std::visit([](const auto& m) { return m.rowptr.bytes() + m.colind.bytes() + m.values.bytes(); }, c);
}

/// The status and the message of what f throws; SUCCESS where it throws nothing.
inline std::pair<status, std::string> failure_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const error& e) {
    return {e.code(), e.what()};
  }
  return {status::success, ""};
}

}  // namespace tulle::test
