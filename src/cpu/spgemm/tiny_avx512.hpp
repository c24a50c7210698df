// The columns of rows with few products, with AVX-512: keys of 16 bits, sorted by networks of 32 or 64 (K. E. Batcher,
// "Sorting networks and their applications", 1968) that branch on their number alone.
#pragma once

#include <algorithm>

#include "cpu/spgemm/operands.hpp"
#include "cpu/spgemm/simd.hpp"
#include "cpu/spgemm/tiny_rows.hpp"

#if TULLE_X86

namespace tulle::cpu {

/// 32 keys of 16 bits a register.
struct sort_avx512 {
  /// Compare-exchange with the lane at distance `D`; `upper` names the lanes that take the larger key.
  template <int D>
  [[gnu::always_inline, TULLE_AVX512BW]] static __m512i step(__m512i v, __mmask32 upper) {
    __m512i other;
    if constexpr (D == 1) other = _mm512_rol_epi32(v, 16);
    if constexpr (D == 2) other = _mm512_shuffle_epi32(v, _MM_PERM_CDAB);
    if constexpr (D == 4) other = _mm512_shuffle_epi32(v, _MM_PERM_BADC);
    if constexpr (D == 8) other = _mm512_shuffle_i64x2(v, v, 0xb1);
    if constexpr (D == 16) other = _mm512_shuffle_i64x2(v, v, 0x4e);
    return _mm512_mask_mov_epi16(_mm512_min_epu16(v, other), upper, _mm512_max_epu16(v, other));
  }
  /// `falling`: all ones where lanes are to be in falling order.
  template <int D>
  [[gnu::always_inline, TULLE_AVX512BW]] static __m512i merge(__m512i v, __mmask32 falling) {
    constexpr std::uint32_t upper = D == 1 ? 0xaaaaaaaa : D == 2 ? 0xcccccccc : D == 4 ? 0xf0f0f0f0 : D == 8 ? 0xff00ff00 : 0xffff0000;
    v = step<D>(v, upper ^ falling);
    if constexpr (D > 1) v = merge<D / 2>(v, falling);
    return v;
  }
  [[gnu::always_inline, TULLE_AVX512BW]] static __m512i sort(__m512i v, __mmask32 falling) {
    v = merge<1>(v, 0xcccccccc);
    v = merge<2>(v, 0xf0f0f0f0);
    v = merge<4>(v, 0xff00ff00);
    v = merge<8>(v, 0xffff0000);
    return merge<16>(v, falling);
  }
  [[gnu::always_inline, TULLE_AVX512BW]] static void exchange(__m512i& low, __m512i& high) {
    const __m512i smaller = _mm512_min_epu16(low, high);
    high = _mm512_max_epu16(low, high);
    low = smaller;
  }
  [[gnu::always_inline, TULLE_AVX512BW]] static void sort(__m512i& x, __m512i& y) {
    x = sort(x, 0);
    y = sort(y, ~__mmask32{0});
    exchange(x, y);
    x = merge<16>(x, 0);
    y = merge<16>(y, 0);
  }
};

/// The keys of one row.
class tiny_row_avx512 {
 public:
  /// No column.
  static constexpr int none = 0xffff;

  template <offset O>
  [[gnu::always_inline, TULLE_AVX512BW]] void add(const index_t* colind, O count) {
    while (count > 0) {
      const O here = std::min<O>(count, 16);
      const __m512i columns = _mm512_maskz_loadu_epi32(static_cast<__mmask16>((1u << here) - 1), colind);
      const __m256i keys = _mm512_cvtepi32_epi16(columns);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(keys_ + size_), keys);
      size_ += static_cast<int>(here);
      count -= here;
      colind += here;
    }
  }
  /// The distinct columns in order, at `colind`. Returns how many there are.
  [[gnu::always_inline, TULLE_AVX512BW]] std::int64_t store(index_t* colind) {
    const __m512i all = _mm512_set1_epi16(-1);
    __m512i v[2];
    _mm512_storeu_si512(keys_ + size_, all);
    v[0] = _mm512_load_si512(keys_);
    if (size_ <= 32) {
      v[0] = sort_avx512::sort(v[0], 0);
      return store_distinct<1>(v, colind);
    }
    v[1] = _mm512_load_si512(keys_ + 32);
    sort_avx512::sort(v[0], v[1]);
    return store_distinct<2>(v, colind);
  }

 private:
  template <int Registers>
  [[gnu::always_inline, TULLE_AVX512BW]] static std::int64_t store_distinct(const __m512i* v, index_t* colind) {
    index_t* out = colind;
    __m512i last = _mm512_set1_epi16(-1);  // the lane before the first
    for (int j = 0; j < Registers; ++j) {
      // The lanes of v one further on, with the last of `last` in front.
      const __m512i lanes = _mm512_alignr_epi64(v[j], last, 6);
      const __m512i before = _mm512_alignr_epi8(v[j], lanes, 14);
      const __mmask32 heads = _mm512_mask_cmpneq_epi16_mask(_mm512_cmpneq_epi16_mask(v[j], _mm512_set1_epi16(-1)), v[j], before);
      out = store_half(_mm512_castsi512_si256(v[j]), static_cast<__mmask16>(heads), out);
      out = store_half(_mm512_extracti64x4_epi64(v[j], 1), static_cast<__mmask16>(heads >> 16), out);
      last = v[j];
    }
    return out - colind;
  }
  [[gnu::always_inline, TULLE_AVX512BW]] static index_t* store_half(__m256i keys, __mmask16 heads, index_t* out) {
    const int n = __builtin_popcount(heads);
    _mm512_mask_storeu_epi32(out, static_cast<__mmask16>((1u << n) - 1), _mm512_maskz_compress_epi32(heads, _mm512_cvtepu16_epi32(keys)));
    return out + n;
  }

  int size_ = 0;
  alignas(64) std::uint16_t keys_[tiny_products + 32];
};

/// As tiny_columns, where B has at most 65535 columns.
template <scalar T, offset O>
[[TULLE_AVX512BW, gnu::noinline]] std::int64_t tiny_columns_avx512(const spgemm_operands<T, O>& p, index_t i, index_t* colind) {
  tiny_row_avx512 row;
  for (O k = p.a.rowptr[i]; k < p.a.rowptr[i + 1]; ++k) {
    const O begin = p.b.rowptr[p.a.colind[k]];
    row.add(p.b.colind + begin, static_cast<O>(p.b.rowptr[p.a.colind[k] + 1] - begin));
  }
  return row.store(colind);
}

}  // namespace tulle::cpu
#endif
