// Several vectors in one array, with room between rows or vectors that nobody may touch.
#pragma once

#include <cstring>
#include <tulle/core/vector_ref.hpp>
#include <vector>

#include "kernels/spmv.hpp"
#include "support/guarded_vector.hpp"

namespace tulle::test {

/// Where the elements of `count` vectors of `rows` are.
struct layout {
  index_t rows;
  index_t count;
  vector_order order;
  index_t row_gap = 3;     // elements between rows
  index_t vector_gap = 5;  // or between vectors

  [[nodiscard]] bool by_row() const { return order == vector_order::row_major; }
  [[nodiscard]] std::int64_t ld() const { return by_row() ? count + row_gap : rows + vector_gap; }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(ld() * (by_row() ? rows : count)); }
  [[nodiscard]] std::size_t at(index_t i, index_t j) const {
    return static_cast<std::size_t>(by_row() ? i * ld() + j : i + j * ld());
  }
  [[nodiscard]] strided_vectors ref(void* data) const {
    return {data, count, by_row() ? ld() : 1, by_row() ? 1 : ld()};
  }
};

template <scalar T>
std::vector<T> stored(const layout& l, const std::vector<std::vector<T>>& vectors) {
  std::vector<T> out(l.size(), guarded_vector<T>::canary());
  for (index_t j = 0; j < l.count; ++j) {
    for (index_t i = 0; i < l.rows; ++i)
      out[l.at(i, j)] = vectors[static_cast<std::size_t>(j)][static_cast<std::size_t>(i)];
  }
  return out;
}

template <scalar T>
std::vector<T> vector_of(const layout& l, const std::vector<T>& from, index_t j) {
  std::vector<T> out(static_cast<std::size_t>(l.rows));
  for (index_t i = 0; i < l.rows; ++i) out[static_cast<std::size_t>(i)] = from[l.at(i, j)];
  return out;
}

/// What was between the rows or vectors is still there.
template <scalar T>
bool gaps_intact(const layout& l, const std::vector<T>& now) {
  const std::int64_t used = l.by_row() ? l.count : l.rows;
  const std::vector<T> gap(static_cast<std::size_t>(l.ld() - used), guarded_vector<T>::canary());
  for (auto line = now.begin(); line != now.end(); line += l.ld()) {
    if (std::memcmp(&*line + used, gap.data(), gap.size() * sizeof(T)) != 0) return false;
  }
  return true;
}

}  // namespace tulle::test
