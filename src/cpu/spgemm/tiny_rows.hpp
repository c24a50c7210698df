// The columns of rows with few products: a sorted list.
#pragma once

#include <algorithm>

#include "cpu/spgemm/row_product.hpp"

namespace tulle::cpu {

/// The most products of such a row, by insertion and by sorting networks.
inline constexpr std::int64_t most_inserted = 32;
inline constexpr std::int64_t tiny_products = 64;

/// The distinct columns of row i, which has at most most_inserted products, in order. Returns how many there are.
template <scalar T, offset O>
std::int64_t tiny_columns(const row_product<T, O>& p, index_t i, index_t* colind) {
  index_t sorted[most_inserted];
  std::int64_t size = 0;
  p.for_each_column(i, [&](index_t column) {
    std::int64_t at = size++;
    for (; at > 0 && sorted[at - 1] > column; --at) sorted[at] = sorted[at - 1];
    sorted[at] = column;
  });
  return std::unique_copy(sorted, sorted + size, colind) - colind;
}

}  // namespace tulle::cpu
