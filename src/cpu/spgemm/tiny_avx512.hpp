// The columns of rows with few products, with AVX-512: sorted in registers by networks (K. E. Batcher, "Sorting
// networks and their applications", 1968) of 16, 32 or 64 keys, of 16 bits beyond 16 where B has at most 65535 columns.
// Branches depend on numbers of products alone. Up to 32 columns go from B into their lanes without a detour through
// memory, which would make the load of many wait until the stores of few have reached the cache.
#pragma once

#include <algorithm>
#include <limits>

#include "cpu/spgemm/row_product.hpp"
#include "cpu/spmv/intrinsics.hpp"

#if TULLE_X86

namespace tulle::cpu {

/// 32 keys of 16 bits, or 16 of 32, a register. Distances D between lanes are in units of 16 bits.
template <int Bits>
struct sort_avx512 {
  static constexpr int lanes = 512 / Bits;
  static constexpr std::uint32_t all = Bits == 16 ? 0xffffffff : 0xffff;

  [[gnu::always_inline, TULLE_AVX512BW]] static __m512i smaller(__m512i x, __m512i y) {
    return Bits == 16 ? _mm512_min_epu16(x, y) : _mm512_min_epu32(x, y);
  }
  [[gnu::always_inline, TULLE_AVX512BW]] static __m512i larger(__m512i x, __m512i y) {
    return Bits == 16 ? _mm512_max_epu16(x, y) : _mm512_max_epu32(x, y);
  }
  /// Bit i: whether lane i has bit `D` of its number set.
  template <int D>
  static constexpr std::uint32_t upper = D == 1   ? 0xaaaaaaaa & all
                                         : D == 2 ? 0xcccccccc & all
                                         : D == 4 ? 0xf0f0f0f0 & all
                                         : D == 8 ? 0xff00ff00 & all
                                                  : 0xffff0000;
  /// The keys of the lanes at distance D.
  template <int D>
  [[gnu::always_inline, TULLE_AVX512BW]] static __m512i across(__m512i v) {
    constexpr int bits = D * Bits;
    if constexpr (bits == 16) return _mm512_rol_epi32(v, 16);
    if constexpr (bits == 32) return _mm512_shuffle_epi32(v, _MM_PERM_CDAB);
    if constexpr (bits == 64) return _mm512_shuffle_epi32(v, _MM_PERM_BADC);
    if constexpr (bits == 128) return _mm512_shuffle_i64x2(v, v, 0xb1);
    return _mm512_shuffle_i64x2(v, v, 0x4e);
  }
  /// Sorts runs of 2 D lanes that rise and then fall (or the other way); those in `falling` downwards.
  template <int D>
  [[gnu::always_inline, TULLE_AVX512BW]] static __m512i merge(__m512i v, std::uint32_t falling) {
    const __m512i other = across<D>(v);
    const std::uint32_t takes_larger = upper<D> ^ falling;
    if constexpr (Bits == 16) {
      v = _mm512_mask_mov_epi16(smaller(v, other), takes_larger, larger(v, other));
    } else {
      v = _mm512_mask_mov_epi32(smaller(v, other), static_cast<__mmask16>(takes_larger), larger(v, other));
    }
    if constexpr (D > 1) v = merge<D / 2>(v, falling);
    return v;
  }
  [[gnu::always_inline, TULLE_AVX512BW]] static __m512i sort(__m512i v, std::uint32_t falling) {
    v = merge<1>(v, upper<2>);
    v = merge<2>(v, upper<4>);
    if constexpr (Bits == 32) return merge<8>(merge<4>(v, upper<8>), falling);
    if constexpr (Bits == 16) v = merge<16>(merge<8>(merge<4>(v, upper<8>), upper<16>), falling);
    return v;
  }
  [[gnu::always_inline, TULLE_AVX512BW]] static void exchange(__m512i& low, __m512i& high) {
    const __m512i least = smaller(low, high);
    high = larger(low, high);
    low = least;
  }
  [[gnu::always_inline, TULLE_AVX512BW]] static void merge_two(__m512i& x, __m512i& y, std::uint32_t falling) {
    falling == 0 ? exchange(x, y) : exchange(y, x);
    x = merge<lanes / 2>(x, falling);
    y = merge<lanes / 2>(y, falling);
  }
  [[gnu::always_inline, TULLE_AVX512BW]] static void sort_two(__m512i& x, __m512i& y, std::uint32_t falling) {
    x = sort(x, 0);
    y = sort(y, all);
    merge_two(x, y, falling);
  }
  [[gnu::always_inline, TULLE_AVX512BW]] static void sort_four(__m512i* v) {
    sort_two(v[0], v[1], 0);
    sort_two(v[2], v[3], all);
    exchange(v[0], v[2]);
    exchange(v[1], v[3]);
    merge_two(v[0], v[1], 0);
    merge_two(v[2], v[3], 0);
  }
};

/// Up to 16 `Registers` columns of a row to lanes of 32 bits; the largest number in those that are left.
template <int Registers, scalar T, offset O>
[[gnu::always_inline, TULLE_AVX512BW]] inline void read_columns(const row_product<T, O>& p, index_t i, __m512i* v) {
  for (int j = 0; j < Registers; ++j) v[j] = _mm512_set1_epi32(std::numeric_limits<index_t>::max());
  int size = 0;
  for (O k = p.a.rowptr[i]; k < p.a.rowptr[i + 1]; ++k) {
    const index_t* from = p.b.colind + p.b.rowptr[p.a.colind[k]];
    const auto count = static_cast<int>(p.b.rowptr[p.a.colind[k] + 1] - p.b.rowptr[p.a.colind[k]]);
    if (count == 0) continue;
    std::uint64_t to = ~std::uint64_t{0} >> (64 - count) << size;
    size += count;
    for (int j = 0; j < Registers; ++j, to >>= 16) {
      v[j] = _mm512_mask_expandloadu_epi32(v[j], static_cast<__mmask16>(to), from);
      from += __builtin_popcount(static_cast<__mmask16>(to));
    }
  }
}

/// As read_columns for 4 registers, by way of memory: cheaper where there are many.
template <scalar T, offset O>
[[gnu::always_inline, TULLE_AVX512BW]] inline void read_many_columns(const row_product<T, O>& p, index_t i,
                                                                     __m512i* v) {
  const __m512i none = _mm512_set1_epi32(std::numeric_limits<index_t>::max());
  alignas(64) index_t keys[tiny_products + 32];
  int size = 0;
  for (O k = p.a.rowptr[i]; k < p.a.rowptr[i + 1]; ++k) {
    const index_t* from = p.b.colind + p.b.rowptr[p.a.colind[k]];
    auto count = static_cast<int>(p.b.rowptr[p.a.colind[k] + 1] - p.b.rowptr[p.a.colind[k]]);
    for (; count > 0; count -= 16, from += 16) {
      const int here = std::min(count, 16);
      _mm512_storeu_si512(keys + size, _mm512_mask_loadu_epi32(none, static_cast<__mmask16>((1u << here) - 1), from));
      size += here;
    }
  }
  _mm512_storeu_si512(keys + size, none);
  if (size < 48) _mm512_storeu_si512(keys + size + 16, none);
  for (int j = 0; j < 4; ++j) v[j] = _mm512_load_si512(keys + 16 * j);
}

/// Stores the columns whose bit is set; returns the end.
[[gnu::always_inline, TULLE_AVX512BW]] inline index_t* store_columns(__m512i columns, __mmask16 set, index_t* out) {
  const int n = __builtin_popcount(set);
  _mm512_mask_storeu_epi32(out, static_cast<__mmask16>((1u << n) - 1), _mm512_maskz_compress_epi32(set, columns));
  return out + n;
}

/// Stores what differs from the key before, up to the keys that are no column. Returns how many there are.
template <int Bits, int Registers>
[[gnu::always_inline, TULLE_AVX512BW]] inline std::int64_t store_distinct(const __m512i* v, index_t* colind) {
  // What no column is, since cols is at most this, and what that is packed to.
  const __m512i none = Bits == 16 ? _mm512_set1_epi16(-1) : _mm512_set1_epi32(std::numeric_limits<index_t>::max());
  __m512i last = none;
  index_t* out = colind;
  for (int j = 0; j < Registers; ++j) {
    if constexpr (Bits == 16) {
      const __m512i before =
          _mm512_alignr_epi8(v[j], _mm512_alignr_epi64(v[j], last, 6), 14);  // one lane on, across quarters
      const __mmask32 heads = _mm512_mask_cmpneq_epi16_mask(_mm512_cmpneq_epi16_mask(v[j], none), v[j], before);
      const __m512i low = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(v[j]));
      const __m512i high = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(v[j], 1));
      out = store_columns(low, static_cast<__mmask16>(heads), out);
      out = store_columns(high, static_cast<__mmask16>(heads >> 16), out);
    } else {
      const __m512i before = _mm512_alignr_epi32(v[j], last, 15);
      out = store_columns(v[j], _mm512_mask_cmpneq_epi32_mask(_mm512_cmpneq_epi32_mask(v[j], none), v[j], before), out);
    }
    last = v[j];
  }
  return out - colind;
}

/// The distinct columns of row i, which has so many products, in order. Returns how many there are.
template <scalar T, offset O>
[[TULLE_AVX512BW, gnu::noinline]] std::int64_t tiny_columns_avx512(const row_product<T, O>& p, index_t i,
                                                                   std::int64_t products, index_t* colind) {
  __m512i v[4];
  if (products <= 16) {
    read_columns<1>(p, i, v);
    v[0] = sort_avx512<32>::sort(v[0], 0);
    return store_distinct<32, 1>(v, colind);
  }
  if (p.b.cols > 0xffff) {
    if (products <= 32) {
      read_columns<2>(p, i, v);
      sort_avx512<32>::sort_two(v[0], v[1], 0);
      return store_distinct<32, 2>(v, colind);
    }
    read_many_columns(p, i, v);
    sort_avx512<32>::sort_four(v);
    return store_distinct<32, 4>(v, colind);
  }
  if (products <= 32) {
    read_columns<2>(p, i, v);
    v[0] = sort_avx512<16>::sort(_mm512_packus_epi32(v[0], v[1]), 0);
    return store_distinct<16, 1>(v, colind);
  }
  read_many_columns(p, i, v);
  v[0] = _mm512_packus_epi32(v[0], v[1]);
  v[1] = _mm512_packus_epi32(v[2], v[3]);
  sort_avx512<16>::sort_two(v[0], v[1], 0);
  return store_distinct<16, 2>(v, colind);
}

}  // namespace tulle::cpu
#endif
