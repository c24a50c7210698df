// Sums of rows with AVX-512: gathers of x, and a mask where fewer entries than lanes are left, so that a short row
// costs one step. Lanes outside the mask load neither the matrix nor x.
#pragma once

#include "cpu/spmv/arithmetic.hpp"
#include "cpu/spmv/intrinsics.hpp"

#if TULLE_X86

namespace tulle::cpu {

/// The 512-bit operations for vectors of one type.
template <scalar V>
struct avx512;

template <>
struct avx512<double> {
  static constexpr int lanes = 8;
  [[gnu::always_inline, TULLE_AVX512]] static __m512d load(__mmask8 mask, const double* values) {
    return _mm512_maskz_loadu_pd(mask, values);
  }
  [[gnu::always_inline, TULLE_AVX512]] static __m512d load(__mmask8 mask, const float* values) {
    return _mm512_cvtps_pd(_mm256_maskz_loadu_ps(mask, values));
  }
  template <scalar T>
  [[gnu::always_inline, TULLE_AVX512]] static __m512d madd(__m512d sum, __mmask16 mask, const T* values,
                                                           const index_t* colind, const double* x) {
    const auto m = static_cast<__mmask8>(mask);
    // Were it known to be full, the gather would go into any register: one that waits for the sum of the row before.
    __mmask8 wanted = m;
    asm("" : "+Yk"(wanted));
    const __m512d gathered =
        _mm512_mask_i32gather_pd(_mm512_setzero_pd(), wanted, _mm256_maskz_loadu_epi32(m, colind), x, 8);
    return _mm512_fmadd_pd(load(m, values), gathered, sum);
  }
  [[gnu::always_inline, TULLE_AVX512]] static __m512d zero() { return _mm512_setzero_pd(); }
  [[gnu::always_inline, TULLE_AVX512]] static double total(__m512d sum) { return _mm512_reduce_add_pd(sum); }
};

template <>
struct avx512<float> {
  static constexpr int lanes = 16;
  [[gnu::always_inline, TULLE_AVX512]] static __m512 madd(__m512 sum, __mmask16 mask, const float* values,
                                                          const index_t* colind, const float* x) {
    const __m512i columns = _mm512_maskz_loadu_epi32(mask, colind);
    const __m512 gathered = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), mask, columns, x, 4);
    return _mm512_fmadd_ps(_mm512_maskz_loadu_ps(mask, values), gathered, sum);
  }
  [[gnu::always_inline, TULLE_AVX512]] static __m512 zero() { return _mm512_setzero_ps(); }
  [[gnu::always_inline, TULLE_AVX512]] static float total(__m512 sum) { return _mm512_reduce_add_ps(sum); }
};

template <>
struct avx512<std::int32_t> {
  static constexpr int lanes = 16;
  [[gnu::always_inline, TULLE_AVX512]] static __m512i madd(__m512i sum, __mmask16 mask, const std::int32_t* values,
                                                           const index_t* colind, const std::int32_t* x) {
    const __m512i columns = _mm512_maskz_loadu_epi32(mask, colind);
    const __m512i gathered = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), mask, columns, x, 4);
    return _mm512_add_epi32(_mm512_mullo_epi32(_mm512_maskz_loadu_epi32(mask, values), gathered), sum);
  }
  [[gnu::always_inline, TULLE_AVX512]] static __m512i zero() { return _mm512_setzero_si512(); }
  [[gnu::always_inline, TULLE_AVX512]] static std::uint32_t total(__m512i sum) {
    return static_cast<std::uint32_t>(_mm512_reduce_add_epi32(sum));
  }
};

/// row_sum with 512-bit vectors.
template <scalar T, scalar V, offset O>
[[gnu::always_inline, TULLE_AVX512]] inline sum_of<V> row_sum_avx512(const T* values, const index_t* colind, const V* x,
                                                                     O begin, O end) {
  using simd = avx512<V>;
  auto sum = simd::zero();
  O k = begin;
  for (; end - k >= simd::lanes; k += simd::lanes) {
    prefetch_stream(values + k, colind + k);
    sum = simd::madd(sum, static_cast<__mmask16>(0xffff), values + k, colind + k, x);
  }
  if (k < end) {
    prefetch_stream(values + k, colind + k);
    const auto mask = static_cast<__mmask16>((1u << static_cast<unsigned>(end - k)) - 1);
    sum = simd::madd(sum, mask, values + k, colind + k, x);
  }
  return simd::total(sum);
}

}  // namespace tulle::cpu
#endif
