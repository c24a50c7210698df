// The columns of rows with few products among many columns, with AVX-512: sorted by networks of 16, 32 or 64 keys of 32 bits.
#pragma once

#include <algorithm>

#include "cpu/spgemm/operands.hpp"
#include "cpu/spgemm/simd.hpp"
#include "cpu/spgemm/tiny_rows.hpp"

#if TULLE_X86

namespace tulle::cpu {

/// Bitonic sorting of 16 columns a register. `upper` names the lanes that take the larger of two.
struct sort_wide_avx512 {
  [[gnu::always_inline, TULLE_AVX512BW]] static __m512i step(__m512i v, __m512i other, __mmask16 upper) {
    return _mm512_mask_mov_epi32(_mm512_min_epi32(v, other), upper, _mm512_max_epi32(v, other));
  }
  [[gnu::always_inline, TULLE_AVX512BW]] static __m512i reverse(__m512i v) {
    return _mm512_permutexvar_epi32(_mm512_set_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), v);
  }
  [[gnu::always_inline, TULLE_AVX512BW]] static __m512i reverse_eights(__m512i v) {
    return _mm512_permutexvar_epi32(_mm512_set_epi32(8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7), v);
  }
  /// Eights that rise, then fall (or the other way): each in order.
  [[gnu::always_inline, TULLE_AVX512BW]] static __m512i clean_eights(__m512i v) {
    v = step(v, _mm512_shuffle_i32x4(v, v, 0xb1), 0xf0f0);
    return clean_fours(v);
  }
  [[gnu::always_inline, TULLE_AVX512BW]] static __m512i clean_fours(__m512i v) {
    v = step(v, _mm512_shuffle_epi32(v, _MM_PERM_BADC), 0xcccc);
    return step(v, _mm512_shuffle_epi32(v, _MM_PERM_CDAB), 0xaaaa);
  }
  /// 16 that rise, then fall (or the other way).
  [[gnu::always_inline, TULLE_AVX512BW]] static __m512i clean(__m512i v) {
    return clean_eights(step(v, _mm512_shuffle_i32x4(v, v, 0x4e), 0xff00));
  }
  [[gnu::always_inline, TULLE_AVX512BW]] static __m512i sort(__m512i v) {
    v = step(v, _mm512_shuffle_epi32(v, _MM_PERM_CDAB), 0xaaaa);
    v = step(v, _mm512_shuffle_epi32(v, _MM_PERM_ABCD), 0xcccc);
    v = step(v, _mm512_shuffle_epi32(v, _MM_PERM_CDAB), 0xaaaa);
    v = clean_fours(step(v, reverse_eights(v), 0xf0f0));
    return clean_eights(step(v, reverse(v), 0xff00));
  }
  [[gnu::always_inline, TULLE_AVX512BW]] static void exchange(__m512i& x, __m512i& y) {
    const __m512i low = _mm512_min_epi32(x, y);
    y = _mm512_max_epi32(x, y);
    x = low;
  }
  [[gnu::always_inline, TULLE_AVX512BW]] static void sort(__m512i& x, __m512i& y) {
    x = sort(x);
    y = reverse(sort(y));
    exchange(x, y);
    x = clean(x);
    y = clean(y);
  }
  /// a b and c d in order: a b c d in order.
  [[gnu::always_inline, TULLE_AVX512BW]] static void merge(__m512i& a, __m512i& b, __m512i& c, __m512i& d) {
    __m512i high = reverse(d), low = reverse(c);  // a b high low rises, then falls
    exchange(a, high);
    exchange(b, low);
    exchange(a, b);
    exchange(high, low);
    a = clean(a);
    b = clean(b);
    c = clean(high);
    d = clean(low);
  }
};

/// Stores the columns that differ from the one before, up to `none`; returns how many there are.
[[gnu::always_inline, TULLE_AVX512BW]] inline std::int64_t store_heads(__m512i v, __m512i before, index_t none, index_t* colind) {
  const __mmask16 heads = _mm512_mask_cmplt_epi32_mask(_mm512_cmpneq_epi32_mask(v, _mm512_alignr_epi32(v, before, 15)), v,
                                                       _mm512_set1_epi32(none));
  const int n = __builtin_popcount(heads);
  _mm512_mask_storeu_epi32(colind, static_cast<__mmask16>((1u << n) - 1), _mm512_maskz_compress_epi32(heads, v));
  return n;
}

/// As tiny_columns.
template <scalar T, offset O>
[[TULLE_AVX512BW, gnu::noinline]] std::int64_t tiny_columns_wide_avx512(const spgemm_operands<T, O>& p, index_t i, index_t* colind) {
  constexpr index_t none = std::numeric_limits<index_t>::max();  // no column: cols is at most this
  alignas(64) index_t keys[tiny_products + 16];
  std::int64_t size = 0;
  _mm512_store_si512(keys, _mm512_set1_epi32(none));
  for (O k = p.a.rowptr[i]; k < p.a.rowptr[i + 1]; ++k) {
    const index_t r = p.a.colind[k];
    const O end = p.b.rowptr[r + 1];
    for (O l = p.b.rowptr[r]; l < end;) {
      const O here = std::min<O>(end - l, 16);
      const auto mask = static_cast<__mmask16>((1u << here) - 1);
      _mm512_storeu_si512(keys + size, _mm512_mask_loadu_epi32(_mm512_set1_epi32(none), mask, p.b.colind + l));
      size += here;
      l += here;
    }
  }
  const __m512i start = _mm512_set1_epi32(-1);
  if (size <= 16) return store_heads(sort_wide_avx512::sort(_mm512_load_si512(keys)), start, none, colind);
  for (std::int64_t at = size; at < size + 48 && at < tiny_products; at += 16) _mm512_storeu_si512(keys + at, _mm512_set1_epi32(none));
  __m512i a = _mm512_load_si512(keys), b = _mm512_load_si512(keys + 16);
  sort_wide_avx512::sort(a, b);
  std::int64_t n = 0;
  if (size <= 32) {
    n = store_heads(a, start, none, colind);
    return n + store_heads(b, a, none, colind + n);
  }
  __m512i c = _mm512_load_si512(keys + 32), d = _mm512_load_si512(keys + 48);
  sort_wide_avx512::sort(c, d);
  sort_wide_avx512::merge(a, b, c, d);
  n = store_heads(a, start, none, colind);
  n += store_heads(b, a, none, colind + n);
  n += store_heads(c, b, none, colind + n);
  return n + store_heads(d, c, none, colind + n);
}

}  // namespace tulle::cpu
#endif
