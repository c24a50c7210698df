// The values of packed_format.hpp in lanes of AVX-512: those of full positions side by side, the others expanded to the
// lanes of a mask. Lanes outside a mask are 0. Up to a vector of slots is loaded where a mask needs fewer.
#pragma once

#include "cpu/spmv/intrinsics.hpp"
#include "cpu/spmv/packed_format.hpp"

#if TULLE_X86
namespace tulle::cpu {

/// Loads from `raw` slots into the lanes of V.
template <scalar V, slot_kind Kind>
struct slots_avx512;

template <>
struct slots_avx512<double, slot_kind::whole> {
  using value = double;
  using raw = double;
  [[gnu::always_inline, TULLE_AVX512]] explicit slots_avx512(const packed_values<double>&) {}
  [[gnu::always_inline, TULLE_AVX512]] __m512d load(const raw* p) const { return _mm512_loadu_pd(p); }
  [[gnu::always_inline, TULLE_AVX512]] __m512d expand(__mmask8 m, const raw* p) const {
    return _mm512_maskz_expandloadu_pd(m, p);
  }
};

template <>
struct slots_avx512<double, slot_kind::f32> {
  using value = double;
  using raw = float;
  [[gnu::always_inline, TULLE_AVX512]] explicit slots_avx512(const packed_values<double>&) {}
  [[gnu::always_inline, TULLE_AVX512]] __m512d load(const raw* p) const { return _mm512_cvtps_pd(_mm256_loadu_ps(p)); }
  [[gnu::always_inline, TULLE_AVX512]] __m512d expand(__mmask8 m, const raw* p) const {
    return _mm512_cvtps_pd(_mm256_maskz_expandloadu_ps(m, p));
  }
};

/// Of one slice.
template <>
struct slots_avx512<double, slot_kind::f16> {
  using value = double;
  using raw = std::uint16_t;
  __m256 scale;
  [[gnu::always_inline, TULLE_AVX512]] explicit slots_avx512(row_form form) : scale(_mm256_set1_ps(f16_scale(form))) {}
  [[gnu::always_inline, TULLE_AVX512]] __m256 floats(const raw* p) const {
    const __m256i halves = _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    return _mm256_mul_ps(_mm512_castps512_ps256(_mm512_cvtph_ps(halves)), scale);
  }
  [[gnu::always_inline, TULLE_AVX512]] __m512d load(const raw* p) const { return _mm512_cvtps_pd(floats(p)); }
  [[gnu::always_inline, TULLE_AVX512]] __m512d expand(__mmask8 m, const raw* p) const {
    return _mm512_cvtps_pd(_mm256_maskz_expand_ps(m, floats(p)));
  }
};

template <>
struct slots_avx512<double, slot_kind::bf16> {
  using value = double;
  using raw = std::uint16_t;
  [[gnu::always_inline, TULLE_AVX512]] explicit slots_avx512(const packed_values<double>&) {}
  [[gnu::always_inline, TULLE_AVX512]] static __m256i upper(const raw* p) {
    return _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))), 16);
  }
  [[gnu::always_inline, TULLE_AVX512]] __m512d load(const raw* p) const {
    return _mm512_cvtps_pd(_mm256_castsi256_ps(upper(p)));
  }
  [[gnu::always_inline, TULLE_AVX512]] __m512d expand(__mmask8 m, const raw* p) const {
    return _mm512_cvtps_pd(_mm256_castsi256_ps(_mm256_maskz_expand_epi32(m, upper(p))));
  }
};

template <>
struct slots_avx512<double, slot_kind::listed> {
  using value = double;
  using raw = std::uint8_t;
  const double* list;
  [[gnu::always_inline, TULLE_AVX512]] explicit slots_avx512(const packed_values<double>& v) : list(v.list) {}
  [[gnu::always_inline, TULLE_AVX512]] static __m256i places(const raw* p) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  }
  [[gnu::always_inline, TULLE_AVX512]] __m512d load(const raw* p) const {
    return _mm512_i32gather_pd(places(p), list, 8);
  }
  [[gnu::always_inline, TULLE_AVX512]] __m512d expand(__mmask8 m, const raw* p) const {
    return _mm512_mask_i32gather_pd(_mm512_setzero_pd(), m, _mm256_maskz_expand_epi32(m, places(p)), list, 8);
  }
};

template <>
struct slots_avx512<double, slot_kind::few> {
  using value = double;
  using raw = std::uint8_t;
  __m512d low, high;
  [[gnu::always_inline, TULLE_AVX512]] explicit slots_avx512(const packed_values<double>& v)
      : low(_mm512_loadu_pd(v.list)), high(_mm512_loadu_pd(v.list + 8)) {}
  [[gnu::always_inline, TULLE_AVX512]] __m512d load(const raw* p) const {
    const __m512i places = _mm512_cvtepu8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
    return _mm512_permutex2var_pd(low, places, high);
  }
  [[gnu::always_inline, TULLE_AVX512]] __m512d expand(__mmask8 m, const raw* p) const {
    return _mm512_maskz_expand_pd(m, load(p));
  }
};

template <>
struct slots_avx512<double, slot_kind::words> {
  using value = double;
  using raw = std::uint32_t;
  std::ptrdiff_t distance;  // words from a high one to its low one
  [[gnu::always_inline, TULLE_AVX512]] explicit slots_avx512(const packed_values<double>& v)
      : distance(v.low / static_cast<std::ptrdiff_t>(sizeof(raw))) {}
  [[gnu::always_inline]] const raw* low_of(const raw* p) const { return p + distance; }
  /// As from_words: a low word below 0 takes one from the high one.
  [[gnu::always_inline, TULLE_AVX512]] static __m512d join(__m256i high, __m256i low) {
    const __m512i in_turn = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m256i upper = _mm256_add_epi32(high, _mm256_srai_epi32(low, 31));
    return _mm512_castsi512_pd(
        _mm512_permutex2var_epi32(_mm512_castsi256_si512(low), in_turn, _mm512_castsi256_si512(upper)));
  }
  [[gnu::always_inline, TULLE_AVX512]] __m512d load(const raw* p) const {
    return join(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
                _mm256_loadu_si256(reinterpret_cast<const __m256i*>(low_of(p))));
  }
  [[gnu::always_inline, TULLE_AVX512]] __m512d expand(__mmask8 m, const raw* p) const {
    return join(_mm256_maskz_expandloadu_epi32(m, p), _mm256_maskz_expandloadu_epi32(m, low_of(p)));
  }
};

template <>
struct slots_avx512<double, slot_kind::high> {
  using value = double;
  using raw = std::uint32_t;
  [[gnu::always_inline, TULLE_AVX512]] explicit slots_avx512(const packed_values<double>&) {}
  [[gnu::always_inline, TULLE_AVX512]] static __m512d upper(__m256i high) {
    const __m512i twice = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    return _mm512_castsi512_pd(_mm512_maskz_permutexvar_epi32(0xaaaa, twice, _mm512_castsi256_si512(high)));
  }
  [[gnu::always_inline, TULLE_AVX512]] __m512d load(const raw* p) const {
    return upper(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  [[gnu::always_inline, TULLE_AVX512]] __m512d expand(__mmask8 m, const raw* p) const {
    return upper(_mm256_maskz_expandloadu_epi32(m, p));
  }
};

template <>
struct slots_avx512<float, slot_kind::whole> {
  using value = float;
  using raw = float;
  [[gnu::always_inline, TULLE_AVX512]] explicit slots_avx512(const packed_values<float>&) {}
  [[gnu::always_inline, TULLE_AVX512]] __m512 load(const raw* p) const { return _mm512_loadu_ps(p); }
  [[gnu::always_inline, TULLE_AVX512]] __m512 expand(__mmask16 m, const raw* p) const {
    return _mm512_maskz_expandloadu_ps(m, p);
  }
};

template <>
struct slots_avx512<float, slot_kind::bf16> {
  using value = float;
  using raw = std::uint16_t;
  [[gnu::always_inline, TULLE_AVX512]] explicit slots_avx512(const packed_values<float>&) {}
  [[gnu::always_inline, TULLE_AVX512]] static __m512i upper(const raw* p) {
    return _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))), 16);
  }
  [[gnu::always_inline, TULLE_AVX512]] __m512 load(const raw* p) const { return _mm512_castsi512_ps(upper(p)); }
  [[gnu::always_inline, TULLE_AVX512]] __m512 expand(__mmask16 m, const raw* p) const {
    return _mm512_castsi512_ps(_mm512_maskz_expand_epi32(m, upper(p)));
  }
};

template <>
struct slots_avx512<float, slot_kind::listed> {
  using value = float;
  using raw = std::uint8_t;
  const float* list;
  [[gnu::always_inline, TULLE_AVX512]] explicit slots_avx512(const packed_values<float>& v) : list(v.list) {}
  [[gnu::always_inline, TULLE_AVX512]] static __m512i places(const raw* p) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  [[gnu::always_inline, TULLE_AVX512]] __m512 load(const raw* p) const {
    return _mm512_i32gather_ps(places(p), list, 4);
  }
  [[gnu::always_inline, TULLE_AVX512]] __m512 expand(__mmask16 m, const raw* p) const {
    return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), m, _mm512_maskz_expand_epi32(m, places(p)), list, 4);
  }
};

template <>
struct slots_avx512<float, slot_kind::few> {
  using value = float;
  using raw = std::uint8_t;
  __m512 low, high;
  [[gnu::always_inline, TULLE_AVX512]] explicit slots_avx512(const packed_values<float>& v)
      : low(_mm512_loadu_ps(v.list)), high(_mm512_loadu_ps(v.list + 16)) {}
  [[gnu::always_inline, TULLE_AVX512]] __m512 load(const raw* p) const {
    return _mm512_permutex2var_ps(low, slots_avx512<float, slot_kind::listed>::places(p), high);
  }
  [[gnu::always_inline, TULLE_AVX512]] __m512 expand(__mmask16 m, const raw* p) const {
    return _mm512_maskz_expand_ps(m, load(p));
  }
};

}  // namespace tulle::cpu
#endif
