// Open addressing from a column to the place of its sum, for rows whose columns are few and far between.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "cpu/spgemm/row_product.hpp"

namespace tulle::cpu {

/// Every slot is free between rows.
template <scalar T>
struct hash_table {
  struct slot {
    index_t column;  // -1: free
    index_t place;
  };
  slot* slots = nullptr;          // a power of 2
  std::uint64_t* keys = nullptr;  // column in the upper half, its slot in the lower
  sum_of<T>* sums = nullptr;
  int shift = 0;           // 32 - log2(slots)
  std::uint32_t last = 0;  // slots - 1

  static constexpr slot free_slot{-1, 0};

  /// The slot of a column: its own, or a free one.
  [[nodiscard, gnu::always_inline]] std::uint32_t find(index_t column) const {
    std::uint32_t at = static_cast<std::uint32_t>(column) * 2654435769u >> shift;
    while (slots[at].column != column && slots[at].column != -1) at = (at + 1) & last;
    return at;
  }
  /// The place of a column, a new one at `size` where it is met for the first time.
  [[gnu::always_inline]] index_t insert(index_t column, index_t& size) const {
    const std::uint32_t at = find(column);
    if (slots[at].column == -1) {
      slots[at] = {column, size};
      keys[size] = static_cast<std::uint64_t>(column) << 32 | at;
      sums[size++] = 0;
    }
    return slots[at].place;
  }
  void clear(index_t size) const {
    for (index_t k = 0; k < size; ++k) slots[keys[k] & 0xffffffffu] = free_slot;
  }

  /// The distinct columns of row i in order. Returns how many there are.
  template <offset O>
  std::int64_t columns(const row_product<T, O>& p, index_t i, index_t* colind) const {
    index_t size = 0;
    p.for_each_column(i, [&](index_t column) { insert(column, size); });
    std::sort(keys, keys + size);
    for (index_t k = 0; k < size; ++k) colind[k] = static_cast<index_t>(keys[k] >> 32);
    clear(size);
    return size;
  }
  /// The sums of row i at its known columns.
  template <offset O>
  [[gnu::always_inline]] void numeric(const row_product<T, O>& p, index_t i, const index_t* colind, std::int64_t n,
                                      T* values) const {
    index_t size = 0;
    for (std::int64_t k = 0; k < n; ++k) insert(colind[k], size);
    p.for_each_product(i, [&](index_t column, sum_of<T> value) { sums[slots[find(column)].place] += value; });
    std::copy_n(sums, n, values);
    clear(size);
  }
};

/// Bytes of one thread's table for rows of at most `entries` distinct columns.
struct hash_layout {
  std::size_t entries;

  [[nodiscard]] std::size_t slots() const { return entries == 0 ? 0 : std::bit_ceil(2 * entries); }
  [[nodiscard]] std::size_t keys() const { return (entries + 7) / 8 * 64; }
  [[nodiscard]] std::size_t bytes(std::size_t value_size) const {
    return (slots() * 8 + 63) / 64 * 64 + keys() + (entries * value_size + 63) / 64 * 64;
  }
  template <scalar T>
  [[nodiscard]] hash_table<T> at(std::byte* memory) const {
    if (entries == 0) return {};
    using slot = typename hash_table<T>::slot;
    static_assert(sizeof(slot) == 8);
    hash_table<T> table;
    table.slots = reinterpret_cast<slot*>(memory);
    table.keys = reinterpret_cast<std::uint64_t*>(memory + (slots() * 8 + 63) / 64 * 64);
    table.sums = reinterpret_cast<sum_of<T>*>(reinterpret_cast<std::byte*>(table.keys) + keys());
    table.shift = 32 - std::countr_zero(slots());
    table.last = static_cast<std::uint32_t>(slots() - 1);
    return table;
  }
};

}  // namespace tulle::cpu
