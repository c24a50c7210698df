// The naive side of the tests: matrices as vectors of rows, on the host.
#pragma once

#include <algorithm>
#include <functional>

#include "formats/battery.hpp"

namespace tulle::testing {

template <class T>
struct entry {
  index_t column;
  T value;
  std::int64_t position;  // in the matrix that it was read from
};

template <class T>
using row_entries = std::vector<std::vector<entry<T>>>;

template <class T>
row_entries<T> rows_of(const matrix& m) {
  row_entries<T> rows(static_cast<std::size_t>(m.rows));
  for (index_t r = 0; r < m.rows; ++r) {
    for (auto k = m.rowptr[r]; k < m.rowptr[r + 1]; ++k) {
      rows[r].push_back({m.colind[k], static_cast<T>(m.values[k]), k});
    }
  }
  return rows;
}

/// Modulo 2^32 for integers.
template <class T>
T wrapped_sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
  } else {
    return a + b;
  }
}

template <class T>
row_entries<T> sorted(row_entries<T> rows) {
  for (auto& row : rows) {
    std::stable_sort(row.begin(), row.end(), [](const auto& a, const auto& b) { return a.column < b.column; });
  }
  return rows;
}

template <class T>
row_entries<T> summed(const row_entries<T>& given) {
  row_entries<T> rows = sorted(given);
  for (auto& row : rows) {
    std::vector<entry<T>> out;
    for (const auto& e : row) {
      if (!out.empty() && out.back().column == e.column) {
        out.back().value = wrapped_sum(out.back().value, e.value);
      } else {
        out.push_back(e);
      }
    }
    row = std::move(out);
  }
  return rows;
}

/// A result has these entries exactly, owns them, is in the context's memory and has 32-bit offsets (it is small).
template <class T>
void expect_entries(const context& ctx, const matrix_ref& got, const row_entries<T>& want, index_t cols) {
  ASSERT_EQ(got.format, matrix_format::csr);
  ASSERT_EQ(got.types, (type_key{scalar_type_of<T>, offset_type::i32}));
  EXPECT_EQ(got.space, ctx.space());
  EXPECT_TRUE(got.owner);
  ASSERT_EQ(got.dimensions(), (shape{static_cast<index_t>(want.size()), cols}));
  std::vector<std::int32_t> rowptr{0};
  std::vector<index_t> colind;
  std::vector<T> values;
  for (const auto& row : want) {
    for (const auto& e : row) {
      colind.push_back(e.column);
      values.push_back(e.value);
    }
    rowptr.push_back(static_cast<std::int32_t>(colind.size()));
  }
  ASSERT_EQ(got.nnz, rowptr.back());
  const auto read = [&]<class E>(const void* from, std::size_t n, E) {
    std::vector<E> to(n);
    copy_bytes(ctx, to.data(), memory_space::host, from, ctx.space(), n * sizeof(E));
    return to;
  };
  EXPECT_TRUE(same_bits(read(got.rowptr, rowptr.size(), std::int32_t{}), rowptr));
  EXPECT_TRUE(same_bits(read(got.colind, colind.size(), index_t{}), colind));
  EXPECT_TRUE(same_bits(read(got.values, values.size(), T{}), values));
}

inline const std::vector<std::string>& matrix_backends() {
  static const std::vector<std::string> all = {"cpu1", "cpu3", "cuda"};
  return all;
}

inline auto backends_and_battery() {
  return ::testing::Combine(::testing::ValuesIn(matrix_backends()),
                            ::testing::Range(0, static_cast<int>(battery().size())));
}

}  // namespace tulle::testing
