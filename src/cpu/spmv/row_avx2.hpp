// Sums of rows with AVX2 and x loaded number by number: what is fastest where gathers are slow, or rows short. The same
// bits as row_avx512.hpp: entry k of a row belongs to lane k modulo the lanes of 512 bits, in two halves here, and
// lanes are added in the same tree. What is left of a row past whole vectors is taken in one of two ways: by branches
// on its length, which cost least where lengths are foreseen, or under a mask, where they are not.
#pragma once

#include <cstring>

#include "cpu/spmv/arithmetic.hpp"
#include "cpu/spmv/intrinsics.hpp"

#if TULLE_X86
/// AVX2 with fma: sums.
#define TULLE_AVX2FMA gnu::target("avx2,fma,f16c,bmi,popcnt")

namespace tulle::cpu {

/// All bits set in the first n of four lanes.
[[gnu::always_inline, TULLE_AVX2FMA]] inline __m128i first_lanes(int n) {
  return _mm_cmpgt_epi32(_mm_set1_epi32(n), _mm_setr_epi32(0, 1, 2, 3));
}

/// The first N of four numbers, else 0.
template <int N>
[[gnu::always_inline, TULLE_AVX2FMA]] inline __m128 some_of_four(const float* p) {
  if constexpr (N == 1) return _mm_load_ss(p);
  if constexpr (N == 4) return _mm_loadu_ps(p);
  const __m128 two = _mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  if constexpr (N == 3) return _mm_insert_ps(two, _mm_load_ss(p + 2), 0x20);
  return two;
}

/// Two columns that follow each other, loaded at once: a core makes few loads a cycle, and each number of x is one.
struct column_pair {
  std::uint64_t columns;

  [[gnu::always_inline]] static column_pair load(const index_t* c) {
    column_pair pair;
    std::memcpy(&pair.columns, c, sizeof(pair.columns));
    return pair;
  }
  [[gnu::always_inline]] std::uint32_t first() const { return static_cast<std::uint32_t>(columns); }
  [[gnu::always_inline]] std::uint32_t second() const { return static_cast<std::uint32_t>(columns >> 32); }
};
[[gnu::always_inline, TULLE_AVX2FMA]] inline column_pair low_pair(__m128i columns) {
  return {static_cast<std::uint64_t>(_mm_cvtsi128_si64(columns))};
}
[[gnu::always_inline, TULLE_AVX2FMA]] inline column_pair high_pair(__m128i columns) {
  return {static_cast<std::uint64_t>(_mm_extract_epi64(columns, 1))};
}

/// The 256-bit operations for vectors of one type.
template <scalar V>
struct avx2;

template <>
struct avx2<double> {
  using vector = __m256d;
  static constexpr int lanes = 4;
  [[gnu::always_inline, TULLE_AVX2FMA]] static vector zero() { return _mm256_setzero_pd(); }
  [[gnu::always_inline, TULLE_AVX2FMA]] static vector load(const double* p) { return _mm256_loadu_pd(p); }
  [[gnu::always_inline, TULLE_AVX2FMA]] static vector load(const float* p) { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }
  /// The first N of them, else 0.
  template <int N>
  [[gnu::always_inline, TULLE_AVX2FMA]] static vector some(const double* p) {
    if constexpr (N == 4) return load(p);
    if constexpr (N == 3) return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(p)), _mm_load_sd(p + 2), 1);
    return _mm256_insertf128_pd(zero(), N == 2 ? _mm_loadu_pd(p) : _mm_load_sd(p), 0);
  }
  template <int N>
  [[gnu::always_inline, TULLE_AVX2FMA]] static vector some(const float* p) {
    return _mm256_cvtps_pd(some_of_four<N>(p));
  }
  template <int N>
  [[gnu::always_inline, TULLE_AVX2FMA]] static vector gather(const double* x, const index_t* c) {
    if constexpr (N <= 2) return _mm256_insertf128_pd(zero(), two<N>(x, c), 0);
    if constexpr (N > 2) return _mm256_insertf128_pd(_mm256_castpd128_pd256(two<2>(x, c)), two<N - 2>(x, c + 2), 1);
  }
  /// The numbers of x at four columns, one by one.
  [[gnu::always_inline, TULLE_AVX2FMA]] static vector gather(const double* x, __m128i columns) {
    const column_pair low = low_pair(columns), high = high_pair(columns);
    return together(x + low.first(), x + low.second(), x + high.first(), x + high.second());
  }
  [[gnu::always_inline, TULLE_AVX2FMA]] static vector together(const double* a, const double* b, const double* c,
                                                               const double* d) {
    const __m128d low = _mm_loadh_pd(_mm_load_sd(a), b);
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(low), _mm_loadh_pd(_mm_load_sd(c), d), 1);
  }
  [[gnu::always_inline, TULLE_AVX2FMA]] static vector madd(vector a, vector b, vector c) {
    return _mm256_fmadd_pd(a, b, c);
  }
  /// sum += the first n products, 0 to 4. Lanes past them load x[0], and drop it.
  template <scalar T>
  [[gnu::always_inline, TULLE_AVX2FMA]] static vector madd_first(int n, const T* values, const index_t* c,
                                                                 const double* x, vector sum) {
    const __m128i mask = first_lanes(n), columns = _mm_maskload_epi32(c, mask);
    const __m256i wide_mask = _mm256_cvtepi32_epi64(mask);
    const vector from_x = _mm256_and_pd(gather(x, columns), _mm256_castsi256_pd(wide_mask));
    if constexpr (sizeof(T) == 8) return madd(_mm256_maskload_pd(values, wide_mask), from_x, sum);
    if constexpr (sizeof(T) == 4) return madd(_mm256_cvtps_pd(_mm_maskload_ps(values, mask)), from_x, sum);
  }
  [[gnu::always_inline, TULLE_AVX2FMA]] static double total(vector low, vector high) {
    const vector sum = _mm256_add_pd(low, high);
    const __m128d half = _mm_add_pd(_mm256_castpd256_pd128(sum), _mm256_extractf128_pd(sum, 1));
    return half[0] + half[1];
  }

 private:
  template <int N>
  [[gnu::always_inline, TULLE_AVX2FMA]] static __m128d two(const double* x, const index_t* c) {
    if constexpr (N == 1) return _mm_load_sd(x + c[0]);
    const column_pair both = column_pair::load(c);
    return _mm_loadh_pd(_mm_load_sd(x + both.first()), x + both.second());
  }
};

template <>
struct avx2<float> {
  using vector = __m256;
  static constexpr int lanes = 8;
  [[gnu::always_inline, TULLE_AVX2FMA]] static vector zero() { return _mm256_setzero_ps(); }
  [[gnu::always_inline, TULLE_AVX2FMA]] static vector load(const float* p) { return _mm256_loadu_ps(p); }
  template <int N>
  [[gnu::always_inline, TULLE_AVX2FMA]] static vector some(const float* p) {
    if constexpr (N <= 4) return _mm256_insertf128_ps(zero(), some_of_four<N>(p), 0);
    if constexpr (N > 4)
      return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)), some_of_four<N - 4>(p + 4), 1);
  }
  template <int N>
  [[gnu::always_inline, TULLE_AVX2FMA]] static vector gather(const float* x, const index_t* c) {
    if constexpr (N <= 4) return _mm256_insertf128_ps(zero(), four<N>(x, c), 0);
    if constexpr (N > 4) return _mm256_insertf128_ps(_mm256_castps128_ps256(four<4>(x, c)), four<N - 4>(x, c + 4), 1);
  }
  /// The numbers of x at eight columns, one by one.
  [[gnu::always_inline, TULLE_AVX2FMA]] static vector gather(const float* x, __m256i columns) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(four(x, _mm256_castsi256_si128(columns))),
                                four(x, _mm256_extracti128_si256(columns, 1)), 1);
  }
  [[gnu::always_inline, TULLE_AVX2FMA]] static __m128 together(const float* a, const float* b, const float* c,
                                                               const float* d) {
    return _mm_insert_ps(_mm_insert_ps(together(a, b), _mm_load_ss(c), 0x20), _mm_load_ss(d), 0x30);
  }
  [[gnu::always_inline, TULLE_AVX2FMA]] static vector madd(vector a, vector b, vector c) {
    return _mm256_fmadd_ps(a, b, c);
  }
  /// sum += the first n products, 0 to 8. Lanes past them load x[0], and drop it: whether there are more than four is
  /// guessed wrong where lengths are (Zen 4, 100,000 rows of 0 to 16 entries: 9.8 ns a row by a branch, 7.6 without).
  [[gnu::always_inline, TULLE_AVX2FMA]] static vector madd_first(int n, const float* values, const index_t* c,
                                                                 const float* x, vector sum) {
    const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    const vector from_x = _mm256_and_ps(gather(x, _mm256_maskload_epi32(c, mask)), _mm256_castsi256_ps(mask));
    return madd(_mm256_maskload_ps(values, mask), from_x, sum);
  }
  [[gnu::always_inline, TULLE_AVX2FMA]] static float total(vector low, vector high) {
    const vector sum = _mm256_add_ps(low, high);
    const __m128 half = _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps(sum, 1));
    const __m128 quarter = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return quarter[0] + quarter[1];
  }

 private:
  template <int N>
  [[gnu::always_inline, TULLE_AVX2FMA]] static __m128 four(const float* x, const index_t* c) {
    if constexpr (N == 1) return _mm_load_ss(x + c[0]);
    const column_pair low = column_pair::load(c);
    if constexpr (N == 4) return four(x, low, column_pair::load(c + 2));
    const __m128 both = together(x + low.first(), x + low.second());
    if constexpr (N == 3) return _mm_insert_ps(both, _mm_load_ss(x + c[2]), 0x20);
    return both;
  }
  [[gnu::always_inline, TULLE_AVX2FMA]] static __m128 four(const float* x, __m128i columns) {
    return four(x, low_pair(columns), high_pair(columns));
  }
  [[gnu::always_inline, TULLE_AVX2FMA]] static __m128 four(const float* x, column_pair low, column_pair high) {
    return together(x + low.first(), x + low.second(), x + high.first(), x + high.second());
  }
  [[gnu::always_inline, TULLE_AVX2FMA]] static __m128 together(const float* a, const float* b) {
    return _mm_insert_ps(_mm_load_ss(a), _mm_load_ss(b), 0x10);
  }
};

/// sum += the products of N entries, fewer than lanes.
template <int N, scalar V, scalar T>
[[gnu::always_inline, TULLE_AVX2FMA]] inline void add_some(const T* values, const index_t* colind, const V* x,
                                                           typename avx2<V>::vector& sum) {
  using simd = avx2<V>;
  sum = simd::madd(simd::template some<N>(values), simd::template gather<N>(x, colind), sum);
}

/// The same of n of them. By conditional branches alone: where lengths come in no order a jump through a table is
/// foreseen far less often (Zen 3: 343 rows of 4 to 7 entries take 2.3 us by a table and 1.4 so, 3000 of 6 to 18 in f32
/// 40 and 21).
template <scalar T, scalar V>
[[gnu::always_inline, TULLE_AVX2FMA]] inline void add_some(int n, const T* values, const index_t* colind, const V* x,
                                                           typename avx2<V>::vector& sum) {
  if constexpr (avx2<V>::lanes > 4) {
    if (n >= 6) return n == 6 ? add_some<6>(values, colind, x, sum) : add_some<7>(values, colind, x, sum);
    if (n >= 4) return n == 4 ? add_some<4>(values, colind, x, sum) : add_some<5>(values, colind, x, sum);
  }
  if (n == 1) return add_some<1>(values, colind, x, sum);
  if (n == 2) return add_some<2>(values, colind, x, sum);
  if (n == 3) return add_some<3>(values, colind, x, sum);
}

[[gnu::always_inline, TULLE_AVX2FMA]] inline double product(double a, double b) { return __builtin_fma(a, b, 0.0); }
[[gnu::always_inline, TULLE_AVX2FMA]] inline float product(float a, float b) { return __builtin_fmaf(a, b, 0.0F); }

inline constexpr int longest_short_row = 8;

/// Of at most 8 entries, in the order of the tree. Products are never -0, as in a lane that was 0. One by one: five
/// products take 0.83 to 0.92 of the time of those in vectors (Zen 3), whose lanes have to be put together first.
template <scalar T, scalar V>
[[gnu::always_inline, TULLE_AVX2FMA]] inline V short_row_sum(const T* values, const index_t* colind, const V* x,
                                                             int n) {
  if (n == 0) return 0;
  V first = product(V{values[0]}, x[colind[0]]);
  if (n == 1) return first;
  V second = product(V{values[1]}, x[colind[1]]);
  if (n == 2) return first + second;
  V third = product(V{values[2]}, x[colind[2]]);
  if (n == 3) return (first + third) + second;
  V fourth = product(V{values[3]}, x[colind[3]]);
  if (n > 4) {
    first += product(V{values[4]}, x[colind[4]]);
    if (n > 5) {
      second += product(V{values[5]}, x[colind[5]]);
      if (n > 6) {
        third += product(V{values[6]}, x[colind[6]]);
        if (n > 7) fourth += product(V{values[7]}, x[colind[7]]);
      }
    }
  }
  return (first + third) + (second + fourth);
}

/// row_sum with 256-bit vectors. Masked: x has an element, even where the row has none.
template <bool Masked, scalar T, scalar V, offset O>
[[gnu::always_inline, TULLE_AVX2FMA]] inline sum_of<V> row_sum_avx2(const T* values, const index_t* colind, const V* x,
                                                                    O begin, O end) {
  using simd = avx2<V>;
  constexpr int lanes = simd::lanes;
  if (!Masked && end - begin <= longest_short_row) {
    return short_row_sum(values + begin, colind + begin, x, static_cast<int>(end - begin));
  }
  auto low = simd::zero(), high = simd::zero();
  O k = begin;
  for (; end - k >= 2 * lanes; k += 2 * lanes) {
    prefetch_stream(values + k, colind + k);
    low = simd::madd(simd::load(values + k), simd::template gather<lanes>(x, colind + k), low);
    high = simd::madd(simd::load(values + k + lanes), simd::template gather<lanes>(x, colind + k + lanes), high);
  }
  if constexpr (Masked) {
    const auto left = static_cast<int>(end - k);
    if (left <= lanes) return simd::total(simd::madd_first(left, values + k, colind + k, x, low), high);
    low = simd::madd(simd::load(values + k), simd::template gather<lanes>(x, colind + k), low);
    high = simd::madd_first(left - lanes, values + k + lanes, colind + k + lanes, x, high);
    return simd::total(low, high);
  }
  if (end - k >= lanes) {
    low = simd::madd(simd::load(values + k), simd::template gather<lanes>(x, colind + k), low);
    k += lanes;
    add_some(static_cast<int>(end - k), values + k, colind + k, x, high);
  } else {
    add_some(static_cast<int>(end - k), values + k, colind + k, x, low);
  }
  return simd::total(low, high);
}

}  // namespace tulle::cpu
#endif
