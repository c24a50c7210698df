#include "spgemm/operands.hpp"

#include <algorithm>
#include <numeric>
#include <set>

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
  std::set<index_t> out;
  for (index_t top = last - std::min(count, last - first); top < last; ++top) {  // Floyd (CACM 30(9), 1987)
    const auto choices = static_cast<std::uint64_t>(top - first) + 1;
    const auto column = first + static_cast<index_t>(random() % choices);
    if (!out.insert(column).second) out.insert(top);
  }
  return {out.begin(), out.end()};
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
