// Rows with few products: sorted by column, then by the order of A's entries, and summed.
#pragma once

#include <cstdint>

#include "cpu/spgemm/operands.hpp"

namespace tulle::cpu {

/// The most products of such a row.
inline constexpr std::int64_t tiny_products = 32;

/// The products of one row, in order: column in the upper half of a key, its place in `values` in the lower.
template <scalar T>
class tiny_row {
 public:
  template <offset O>
  [[gnu::always_inline]] tiny_row(const spgemm_operands<T, O>& p, index_t i) {
    p.for_each_product(i, [&](index_t column, T value) {
      values_[size_] = value;
      insert(static_cast<std::uint64_t>(column) << 32 | static_cast<std::uint64_t>(size_));
      ++size_;
    });
  }

  /// Distinct columns.
  [[nodiscard, gnu::always_inline]] std::int64_t count() const {
    std::int64_t n = size_ > 0 ? 1 : 0;
    for (int k = 1; k < size_; ++k) n += keys_[k] >> 32 != keys_[k - 1] >> 32 ? 1 : 0;
    return n;
  }
  [[gnu::always_inline]] void store(index_t* colind, T* values) const {
    for (int k = 0; k < size_;) {
      const std::uint64_t column = keys_[k] >> 32;
      T sum = 0;
      for (; k < size_ && keys_[k] >> 32 == column; ++k) sum += values_[keys_[k] & 0xffffffffu];
      *colind++ = static_cast<index_t>(column);
      *values++ = sum;
    }
  }

 private:
  [[gnu::always_inline]] void insert(std::uint64_t key) {
    int at = size_;
    for (; at > 0 && keys_[at - 1] > key; --at) keys_[at] = keys_[at - 1];
    keys_[at] = key;
  }

  int size_ = 0;
  std::uint64_t keys_[tiny_products];
  T values_[tiny_products];
};

}  // namespace tulle::cpu
