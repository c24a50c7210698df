// A positive definite matrix of blocks whose rows have about so many neighbours, near or anywhere.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <tulle/tulle.hpp>
#include <vector>

namespace tulle {

template <class T>
struct host_bsr {
  std::vector<std::int64_t> rowptr{0};
  std::vector<index_t> colind;
  std::vector<T> values;
};

/// `degree` neighbours on average, within `reach` rows; positive definite.
template <class T>
host_bsr<T> block_graph(index_t rows, index_t block, int degree, index_t reach) {
  std::mt19937 random(1);
  std::vector<std::set<index_t>> at(static_cast<std::size_t>(rows));
  for (index_t i = 0; i < rows; ++i) {
    at[i].insert(i);
    for (int k = 0; k < degree / 2; ++k) {
      index_t j = reach >= rows ? static_cast<index_t>(random() % rows)
                                : i - reach + static_cast<index_t>(random() % (2 * reach + 1));
      j = std::clamp<index_t>(j, 0, rows - 1);
      at[i].insert(j);
      at[j].insert(i);
    }
  }
  host_bsr<T> a;
  for (index_t i = 0; i < rows; ++i) {
    for (const index_t j : at[i]) {
      a.colind.push_back(j);
      std::mt19937 of_pair(static_cast<unsigned>(std::min(i, j)) * 7919u + static_cast<unsigned>(std::max(i, j)));
      std::vector<double> m(static_cast<std::size_t>(block * block));
      for (double& v : m) v = of_pair() / 4294967296.0 - 0.5;
      for (index_t p = 0; p < block; ++p) {
        for (index_t q = 0; q < block; ++q) {
          double v = i <= j ? m[p * block + q] : m[q * block + p];
          if (i == j)
            v = 0.5 * (m[p * block + q] + m[q * block + p]) +
                (p == q ? 0.3 * block * static_cast<double>(at[i].size()) : 0);
          a.values.push_back(static_cast<T>(v));
        }
      }
    }
    a.rowptr.push_back(static_cast<std::int64_t>(a.colind.size()));
  }
  return a;
}

}  // namespace tulle
