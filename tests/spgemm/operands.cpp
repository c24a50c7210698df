#include "spgemm/operands.hpp"

#include <algorithm>
#include <numeric>

namespace tulle::test {

battery_matrix matrix_of(index_t rows, index_t cols, const std::function<columns(index_t)>& row_of) {
  battery_matrix m{"", rows, cols, {0}, {}, {}, {}};
  for (index_t row = 0; row < rows; ++row) {
    const columns row_columns = row_of(row);
    m.colind.insert(m.colind.end(), row_columns.begin(), row_columns.end());
    m.rowptr.push_back(static_cast<std::int64_t>(m.colind.size()));
  }
  m.values = random_numbers(m.colind.size(), 7 + m.colind.size());
  return m;
}

columns random_columns(std::mt19937_64& random, index_t count, index_t first, index_t last) {
  columns out;
  index_t needed = std::min(count, last - first);
  for (index_t column = first; needed > 0; ++column) {  // selection sampling (Knuth, TAOCP 2, 3.4.2, algorithm S)
    if (static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(last - column)) < needed) {
      out.push_back(column);
      --needed;
    }
  }
  return out;
}

columns range(index_t first, index_t last) {
  columns out(static_cast<std::size_t>(std::max(last - first, 0)));
  std::iota(out.begin(), out.end(), first);
  return out;
}

battery_matrix transposed(const battery_matrix& m) {
  battery_matrix t{m.name,
                   m.cols,
                   m.rows,
                   std::vector<std::int64_t>(static_cast<std::size_t>(m.cols) + 1),
                   columns(m.colind.size()),
                   std::vector<double>(m.values.size()),
                   {}};
  for (const index_t column : m.colind) ++t.rowptr[static_cast<std::size_t>(column) + 1];
  std::partial_sum(t.rowptr.begin(), t.rowptr.end(), t.rowptr.begin());
  std::vector<std::int64_t> next(t.rowptr.begin(), t.rowptr.end() - 1);
  for (index_t row = 0; row < m.rows; ++row) {
    for (auto k = static_cast<std::size_t>(m.rowptr[row]); k < static_cast<std::size_t>(m.rowptr[row + 1]); ++k) {
      const auto at = static_cast<std::size_t>(next[static_cast<std::size_t>(m.colind[k])]++);
      t.colind[at] = row;
      t.values[at] = m.values[k];
    }
  }
  return t;
}

}  // namespace tulle::test
