// The columns of rows with few products: a sorted list.
#pragma once

#include <algorithm>

#include "cpu/spgemm/operands.hpp"

namespace tulle::cpu {

/// The most products of such a row, by insertion and by sorting networks.
inline constexpr std::int64_t most_inserted = 32;
inline constexpr std::int64_t tiny_products = 64;

/// The distinct columns of row i in order, at `colind`, which has room for all products. Returns how many there are.
template <scalar T, offset O>
std::int64_t tiny_columns(const spgemm_operands<T, O>& p, index_t i, index_t* colind) {
  std::int64_t size = 0;
  p.for_each_column(i, [&](index_t column) {
    std::int64_t at = size++;
    for (; at > 0 && colind[at - 1] > column; --at) colind[at] = colind[at - 1];
    colind[at] = column;
  });
  return std::unique(colind, colind + size) - colind;
}

}  // namespace tulle::cpu
