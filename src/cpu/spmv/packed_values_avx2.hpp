// The values of packed_format.hpp in vectors of AVX2: as many as a vector has lanes, from any slot on. A vector of slots
// is loaded where fewer are needed.
#pragma once

#include <cstring>

#include "cpu/spmv/packed_format.hpp"
#include "cpu/spmv/row_avx2.hpp"

#if TULLE_X86
namespace tulle::cpu {

/// Values of a list that one vector holds.
template <scalar V>
inline constexpr int few_values_avx2 = 32 / sizeof(V);

/// Loads from `raw` slots into the lanes of V. Few: few_values_avx2.
template <scalar V, slot_kind Kind>
struct slots_avx2;

[[gnu::always_inline, TULLE_AVX2FMA]] inline __m128i four_bytes(const std::uint8_t* p) {
  int four;
  std::memcpy(&four, p, sizeof(four));
  return _mm_cvtsi32_si128(four);
}
[[gnu::always_inline, TULLE_AVX2FMA]] inline __m128i eight_bytes(const void* p) {
  return _mm_loadl_epi64(static_cast<const __m128i*>(p));
}
[[gnu::always_inline, TULLE_AVX2FMA]] inline __m128i sixteen_bytes(const void* p) {
  return _mm_loadu_si128(static_cast<const __m128i*>(p));
}
/// {a[0], b[0], a[1], b[1], ...} of 32 bits.
[[gnu::always_inline, TULLE_AVX2FMA]] inline __m256d in_turn(__m128i a, __m128i b) {
  const __m256i low = _mm256_castsi128_si256(_mm_unpacklo_epi32(a, b));
  return _mm256_castsi256_pd(_mm256_inserti128_si256(low, _mm_unpackhi_epi32(a, b), 1));
}

template <>
struct slots_avx2<double, slot_kind::whole> {
  using value = double;
  using raw = double;
  [[gnu::always_inline, TULLE_AVX2FMA]] explicit slots_avx2(const packed_values<double>&) {}
  [[gnu::always_inline, TULLE_AVX2FMA]] __m256d load(const raw* p) const { return _mm256_loadu_pd(p); }
};

template <>
struct slots_avx2<double, slot_kind::f32> {
  using value = double;
  using raw = float;
  [[gnu::always_inline, TULLE_AVX2FMA]] explicit slots_avx2(const packed_values<double>&) {}
  [[gnu::always_inline, TULLE_AVX2FMA]] __m256d load(const raw* p) const { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }
};

/// Of one slice.
template <>
struct slots_avx2<double, slot_kind::f16> {
  using value = double;
  using raw = std::uint16_t;
  __m128 scale;
  [[gnu::always_inline, TULLE_AVX2FMA]] explicit slots_avx2(row_form form) : scale(_mm_set1_ps(f16_scale(form))) {}
  [[gnu::always_inline, TULLE_AVX2FMA]] __m256d load(const raw* p) const {
    return _mm256_cvtps_pd(_mm_mul_ps(_mm_cvtph_ps(eight_bytes(p)), scale));
  }
};

template <>
struct slots_avx2<double, slot_kind::bf16> {
  using value = double;
  using raw = std::uint16_t;
  [[gnu::always_inline, TULLE_AVX2FMA]] explicit slots_avx2(const packed_values<double>&) {}
  [[gnu::always_inline, TULLE_AVX2FMA]] __m256d load(const raw* p) const {
    return _mm256_cvtps_pd(_mm_castsi128_ps(_mm_slli_epi32(_mm_cvtepu16_epi32(eight_bytes(p)), 16)));
  }
};

template <>
struct slots_avx2<double, slot_kind::listed> {
  using value = double;
  using raw = std::uint8_t;
  const double* list;
  [[gnu::always_inline, TULLE_AVX2FMA]] explicit slots_avx2(const packed_values<double>& v) : list(v.list) {}
  [[gnu::always_inline, TULLE_AVX2FMA]] __m256d load(const raw* p) const {
    return avx2<double>::gather(list, _mm_cvtepu8_epi32(four_bytes(p)));
  }
};

template <>
struct slots_avx2<double, slot_kind::few> {
  using value = double;
  using raw = std::uint8_t;
  __m256 halves;  // the lower ones of four numbers, then the upper ones
  [[gnu::always_inline, TULLE_AVX2FMA]] explicit slots_avx2(const packed_values<double>& v)
      : halves(_mm256_permutevar8x32_ps(_mm256_castpd_ps(_mm256_loadu_pd(v.list)),
                                        _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7))) {}
  [[gnu::always_inline, TULLE_AVX2FMA]] __m256d load(const raw* p) const {
    constexpr char no = -1;
    int four;
    std::memcpy(&four, p, sizeof(four));
    const __m256i twice = _mm256_setr_epi8(0, no, no, no, 0, no, no, no, 1, no, no, no, 1, no, no, no,  //
                                           2, no, no, no, 2, no, no, no, 3, no, no, no, 3, no, no, no);
    const __m256i places = _mm256_shuffle_epi8(_mm256_set1_epi32(four), twice);
    const __m256i upper = _mm256_set1_epi64x(std::int64_t{4} << 32);
    return _mm256_castps_pd(_mm256_permutevar8x32_ps(halves, _mm256_or_si256(places, upper)));
  }
};

template <>
struct slots_avx2<double, slot_kind::words> {
  using value = double;
  using raw = std::uint32_t;
  std::ptrdiff_t distance;  // words from a high one to its low one
  [[gnu::always_inline, TULLE_AVX2FMA]] explicit slots_avx2(const packed_values<double>& v)
      : distance(v.low / static_cast<std::ptrdiff_t>(sizeof(raw))) {}
  [[gnu::always_inline]] const raw* low_of(const raw* p) const { return p + distance; }
  /// As from_words: a low word below 0 takes one from the high one.
  [[gnu::always_inline, TULLE_AVX2FMA]] __m256d load(const raw* p) const {
    const __m128i high = sixteen_bytes(p), low = sixteen_bytes(low_of(p));
    return in_turn(low, _mm_add_epi32(high, _mm_srai_epi32(low, 31)));
  }
};

template <>
struct slots_avx2<double, slot_kind::high> {
  using value = double;
  using raw = std::uint32_t;
  [[gnu::always_inline, TULLE_AVX2FMA]] explicit slots_avx2(const packed_values<double>&) {}
  [[gnu::always_inline, TULLE_AVX2FMA]] __m256d load(const raw* p) const {
    return in_turn(_mm_setzero_si128(), sixteen_bytes(p));
  }
};

template <>
struct slots_avx2<float, slot_kind::whole> {
  using value = float;
  using raw = float;
  [[gnu::always_inline, TULLE_AVX2FMA]] explicit slots_avx2(const packed_values<float>&) {}
  [[gnu::always_inline, TULLE_AVX2FMA]] __m256 load(const raw* p) const { return _mm256_loadu_ps(p); }
};

template <>
struct slots_avx2<float, slot_kind::bf16> {
  using value = float;
  using raw = std::uint16_t;
  [[gnu::always_inline, TULLE_AVX2FMA]] explicit slots_avx2(const packed_values<float>&) {}
  [[gnu::always_inline, TULLE_AVX2FMA]] __m256 load(const raw* p) const {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(sixteen_bytes(p)), 16));
  }
};

template <>
struct slots_avx2<float, slot_kind::listed> {
  using value = float;
  using raw = std::uint8_t;
  const float* list;
  [[gnu::always_inline, TULLE_AVX2FMA]] explicit slots_avx2(const packed_values<float>& v) : list(v.list) {}
  [[gnu::always_inline, TULLE_AVX2FMA]] __m256 load(const raw* p) const {
    return avx2<float>::gather(list, _mm256_cvtepu8_epi32(eight_bytes(p)));
  }
};

template <>
struct slots_avx2<float, slot_kind::few> {
  using value = float;
  using raw = std::uint8_t;
  __m256 list;
  [[gnu::always_inline, TULLE_AVX2FMA]] explicit slots_avx2(const packed_values<float>& v)
      : list(_mm256_loadu_ps(v.list)) {}
  [[gnu::always_inline, TULLE_AVX2FMA]] __m256 load(const raw* p) const {
    return _mm256_permutevar8x32_ps(list, _mm256_cvtepu8_epi32(eight_bytes(p)));
  }
};

}  // namespace tulle::cpu
#endif
