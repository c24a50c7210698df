// Bits to columns with AVX-512.
#pragma once

#include <bit>
#include <cstdint>

#include "cpu/spgemm/simd.hpp"
#include "cpu/spgemm/window.hpp"

#if TULLE_X86

namespace tulle::cpu {

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

}  // namespace tulle::cpu
#endif
