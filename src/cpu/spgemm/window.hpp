// Flags and sums for a range of columns. A flag is a byte, so that setting one waits for nothing; a second row of flags,
// one for 64 columns, says where to look, so that a row's columns come out in order without sorting.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "cpu/spgemm/operands.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tulle::cpu {

/// Bit j: byte j of the 64 at `flags` is 1 (they are 0 or 1).
[[gnu::always_inline]] inline std::uint64_t gather_flags(const std::uint8_t* flags) {
  std::uint64_t mask = 0;
#if defined(__SSE2__)
  for (int part = 0; part < 4; ++part) {
    const __m128i bytes = _mm_load_si128(reinterpret_cast<const __m128i*>(flags + 16 * part));
    const int bits = _mm_movemask_epi8(_mm_slli_epi64(bytes, 7));
    mask |= static_cast<std::uint64_t>(static_cast<std::uint32_t>(bits)) << (16 * part);
  }
#else
  for (int j = 0; j < 64; ++j) mask |= static_cast<std::uint64_t>(flags[j]) << j;
#endif
  return mask;
}

/// Columns base .. base + columns - 1 of one row. Everything is 0 between rows.
template <scalar T>
struct window {
  T* sums = nullptr;                 // columns
  std::uint8_t* flags = nullptr;     // columns, rounded up to 64
  std::uint8_t* groups = nullptr;    // a flag for 64 columns, rounded up to 8

  [[gnu::always_inline]] void mark(index_t at) const {
    flags[at] = 1;
    groups[at >> 6] = 1;
  }
  /// f(start, mask of the 64 columns from there) where flags are set between first and last; clears them.
  template <class F>
  [[gnu::always_inline]] void take(index_t first, index_t last, F f) const {
    for (index_t octet = first >> 9; octet <= last >> 9; ++octet) {
      std::uint64_t set;
      std::memcpy(&set, groups + 8 * octet, 8);
      if (set == 0) continue;
      std::memset(groups + 8 * octet, 0, 8);
      for (; set != 0; set &= set - 1) {
        const index_t start = (8 * octet + std::countr_zero(set) / 8) * 64;
        f(start, gather_flags(flags + start));
        std::memset(flags + start, 0, 64);
      }
    }
  }
  [[nodiscard, gnu::always_inline]] std::int64_t count(index_t first, index_t last) const {
    std::int64_t n = 0;
    take(first, last, [&](index_t, std::uint64_t mask) { n += std::popcount(mask); });
    return n;
  }
  /// Returns the number of entries.
  [[gnu::always_inline]] std::int64_t store(index_t base, index_t first, index_t last, index_t* colind, T* values) const {
    std::int64_t n = 0;
    take(first, last, [&](index_t start, std::uint64_t mask) {
      for (; mask != 0; mask &= mask - 1) {
        const index_t at = start + std::countr_zero(mask);
        colind[n] = base + at;
        values[n++] = sums[at];
        sums[at] = 0;
      }
    });
    return n;
  }
  /// The sums at known columns.
  [[gnu::always_inline]] void store(index_t base, const index_t* colind, std::int64_t n, T* values) const {
    for (std::int64_t k = 0; k < n; ++k) {
      const index_t at = colind[k] - base;
      values[k] = sums[at];
      sums[at] = 0;
    }
  }
};

/// Columns of the widest window.
inline constexpr index_t widest_window = 1 << 19;

/// Bytes of one thread's window.
struct window_layout {
  std::size_t columns;

  explicit window_layout(index_t cols) : columns(static_cast<std::size_t>(std::min(cols, widest_window))) {}
  [[nodiscard]] std::size_t flags() const { return (columns + 511) / 512 * 512; }
  [[nodiscard]] std::size_t groups() const { return flags() / 64; }
  [[nodiscard]] std::size_t sums(std::size_t value_size) const { return (columns * value_size + 63) / 64 * 64; }
  [[nodiscard]] std::size_t bytes(std::size_t value_size) const {
    return sums(value_size) + flags() + (groups() + 63) / 64 * 64;
  }
  template <scalar T>
  [[nodiscard]] window<T> at(std::byte* memory) const {
    auto* flags_at = reinterpret_cast<std::uint8_t*>(memory + sums(sizeof(T)));
    return {reinterpret_cast<T*>(memory), flags_at, flags_at + flags()};
  }
};

}  // namespace tulle::cpu
