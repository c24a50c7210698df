// Random numbers, columns and matrices: the same for the same seed on every machine.
#pragma once

#include <random>

#include "support/plain_csr.hpp"

namespace tulle::test {

using columns = std::vector<index_t>;

/// In [-1, 1).
std::vector<double> random_numbers(std::size_t count, std::uint64_t seed);
/// `count` (all where there are fewer) distinct columns of [first, last), ascending.
columns random_columns(std::mt19937_64& random, index_t count, index_t first, index_t last);
columns range(index_t first, index_t last);

enum class rows_are { increasing, shuffled, repeating };

/// About `per_row` entries per row, every fifth row empty. `repeating`: in no order, with duplicates.
template <class T = double, class O = std::int64_t>
plain_csr<T, O> random_csr(index_t rows, index_t cols, index_t per_row, std::uint64_t seed,
                           rows_are order = rows_are::increasing) {
  std::mt19937_64 random(seed);
  plain_csr<T, O> m{0, cols};
  for (index_t i = 0; i < rows; ++i) {
    columns c;
    for (index_t k = 0; cols > 0 && i % 5 != 4 && k < per_row; ++k) {
      c.push_back(static_cast<index_t>(random() % static_cast<std::uint64_t>(cols)));
    }
    if (order != rows_are::repeating) {
      std::sort(c.begin(), c.end());
      c.erase(std::unique(c.begin(), c.end()), c.end());
    }
    if (order == rows_are::shuffled) std::shuffle(c.begin(), c.end(), random);
    m.add_row(c);
  }
  for (const double v : random_numbers(m.colind.size(), seed)) m.values.push_back(static_cast<T>(v));
  return m;
}

}  // namespace tulle::test
