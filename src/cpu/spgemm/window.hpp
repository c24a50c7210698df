// Bits and sums for a range of columns. A flag for each word of 64 bits says where to look, so that a row's columns
// come out in order without sorting.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "cpu/spgemm/row_product.hpp"
#include "cpu/spmv/intrinsics.hpp"

namespace tulle::cpu {

/// Columns base .. base + columns - 1 of one row. Everything is 0 between rows.
template <scalar T>
struct window {
  sum_of<T>* sums = nullptr;       // columns
  std::uint64_t* words = nullptr;  // a bit for a column
  std::uint8_t* groups = nullptr;  // 1 where a word is not 0; as many as words, rounded up to 8

  [[gnu::always_inline]] void mark(index_t word, std::uint64_t bits) const {
    words[word] |= bits;
    groups[word] = 1;
  }
  /// The marked columns, which lie in base + `marked`, in order; clears them. Returns how many there are.
  std::int64_t take(index_t base, column_span marked, index_t* colind) const {
    index_t* out = colind;
    for (index_t octet = marked.first >> 9; octet <= marked.last >> 9; ++octet) {
      std::uint64_t set;
      std::memcpy(&set, groups + 8 * octet, 8);
      if (set == 0) continue;
      std::memset(groups + 8 * octet, 0, 8);
      for (; set != 0; set &= set - 1) {
        const index_t word = 8 * octet + std::countr_zero(set) / 8;
        out = unpack(words[word], base + 64 * word, out);
        words[word] = 0;
      }
    }
    return out - colind;
  }
  /// The sums at known columns; clears them.
  [[gnu::always_inline]] void take(index_t base, const index_t* colind, std::int64_t n, T* values) const {
    for (std::int64_t k = 0; k < n; ++k) {
      const auto at = static_cast<std::uint32_t>(colind[k] - base);
      values[k] = static_cast<T>(sums[at]);
      sums[at] = 0;
    }
  }

 private:
  [[gnu::always_inline]] static index_t* unpack(std::uint64_t bits, index_t start, index_t* out) {
    if (bits == ~std::uint64_t{0}) {
      for (index_t j = 0; j < 64; ++j) out[j] = start + j;
      return out + 64;
    }
    for (; bits != 0; bits &= bits - 1) *out++ = start + std::countr_zero(bits);
    return out;
  }
};

#if TULLE_X86
/// Bits of a word up to which it is taken bit by bit.
inline constexpr int few_bits = 1;

/// start + the places of the bits, in order. Returns the end.
[[gnu::always_inline, TULLE_AVX512BW]] inline index_t* unpack_avx512(std::uint64_t bits, index_t start, index_t* out) {
  __m512i columns = _mm512_add_epi32(_mm512_set1_epi32(start),
                                     _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
  for (int piece = 0; piece < 4; ++piece) {
    const auto here = static_cast<__mmask16>(bits >> (16 * piece));
    const int n = __builtin_popcount(here);
    _mm512_mask_storeu_epi32(out, static_cast<__mmask16>((1u << n) - 1), _mm512_maskz_compress_epi32(here, columns));
    out += n;
    columns = _mm512_add_epi32(columns, _mm512_set1_epi32(16));
  }
  return out;
}

/// As window::take of columns.
template <scalar T>
[[TULLE_AVX512BW, gnu::noinline]] std::int64_t take_avx512(const window<T>& w, index_t base, column_span marked,
                                                           index_t* colind) {
  index_t* out = colind;
  for (index_t block = marked.first >> 12; block <= marked.last >> 12; ++block) {
    const __m512i groups = _mm512_load_si512(w.groups + 64 * block);
    std::uint64_t set = _mm512_test_epi8_mask(groups, groups);
    if (set == 0) continue;
    _mm512_store_si512(w.groups + 64 * block, _mm512_setzero_si512());
    for (; set != 0; set &= set - 1) {
      const index_t word = 64 * block + std::countr_zero(set), start = base + 64 * word;
      std::uint64_t bits = w.words[word];
      w.words[word] = 0;
      if (__builtin_popcountll(bits) > few_bits) {
        out = unpack_avx512(bits, start, out);
      } else {
        for (; bits != 0; bits &= bits - 1) *out++ = start + std::countr_zero(bits);
      }
    }
  }
  return out - colind;
}

#endif

/// Bytes of one thread's window.
struct window_layout {
  std::size_t columns;

  explicit window_layout(index_t cols)
      : columns((static_cast<std::size_t>(std::min(cols, widest_window)) + 63 + 511) / 512 * 512) {}
  [[nodiscard]] std::size_t bytes(std::size_t value_size) const {
    return columns * value_size + columns / 8 + (columns / 64 + 63) / 64 * 64;
  }
  /// `memory`: bytes() zeroes on a cache line.
  template <scalar T>
  [[nodiscard]] window<T> at(std::byte* memory) const {
    std::byte* words = memory + columns * sizeof(T);
    return {reinterpret_cast<sum_of<T>*>(memory), reinterpret_cast<std::uint64_t*>(words),
            reinterpret_cast<std::uint8_t*>(words + columns / 8)};
  }
};

}  // namespace tulle::cpu
