// The sums of one slice of packed_format.hpp with AVX-512: values and 32-bit offsets are expanded to their lanes, and x is
// loaded where a position lies on a diagonal, gathered elsewhere, under the mask of the lanes that have an entry. Where
// gathers are slow (processor_class::loads) numbers of x are loaded one by one in positions that all lanes have: the
// same numbers, and the same bits.
#pragma once

#include "cpu/spmv/packed_slice.hpp"
#include "cpu/spmv/packed_values_avx512.hpp"

#if TULLE_X86
namespace tulle::cpu {

/// Where lanes find their numbers of x: lane l at base + l + its offset.
template <class Offset, scalar V>
struct lane_reader {
  const V* x;
  std::uint32_t base;
  const unsigned char* offsets;

  [[gnu::always_inline, TULLE_AVX512]] const V* at(int l) const {
    Offset offset;
    std::memcpy(&offset, offsets + l * static_cast<int>(sizeof(Offset)), sizeof(Offset));
    return x + static_cast<std::int32_t>(base + static_cast<std::uint32_t>(l) + offset);
  }
};

/// The operations of one vector of `lanes` rows; an `index` holds one column a lane.
template <scalar T>
struct lanes_avx512;

template <>
struct lanes_avx512<double> {
  using vector = __m512d;
  using index = __m256i;
  using mask = __mmask8;
  static constexpr int lanes = 8;
  [[gnu::always_inline, TULLE_AVX512]] static vector zero() { return _mm512_setzero_pd(); }
  [[gnu::always_inline, TULLE_AVX512]] static vector load(const double* p) { return _mm512_loadu_pd(p); }
  [[gnu::always_inline, TULLE_AVX512]] static vector load(mask m, const double* p) { return _mm512_maskz_loadu_pd(m, p); }
  [[gnu::always_inline, TULLE_AVX512]] static vector madd(vector a, vector b, vector c) { return _mm512_fmadd_pd(a, b, c); }
  [[gnu::always_inline, TULLE_AVX512]] static void store(double* p, vector v) { _mm512_storeu_pd(p, v); }
  [[gnu::always_inline, TULLE_AVX512]] static vector gather(mask m, index i, const double* x) {
    return _mm512_mask_i32gather_pd(_mm512_setzero_pd(), m, i, x, 8);
  }
  [[gnu::always_inline, TULLE_AVX512]] static vector gather(index i, const double* x) { return _mm512_i32gather_pd(i, x, 8); }
  /// The same number by number.
  template <class Offset>
  [[gnu::always_inline, TULLE_AVX512]] static vector load_each(lane_reader<Offset, double> of) {
    return _mm512_insertf64x4(_mm512_castpd256_pd512(four(of, 0)), four(of, 4), 1);
  }
  template <class Offset>
  [[gnu::always_inline, TULLE_AVX512]] static __m256d four(lane_reader<Offset, double> of, int l) {
    const __m128d low = _mm_loadh_pd(_mm_load_sd(of.at(l)), of.at(l + 1));
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(low), _mm_loadh_pd(_mm_load_sd(of.at(l + 2)), of.at(l + 3)), 1);
  }
  [[gnu::always_inline, TULLE_AVX512]] static void stream(double* p, vector v) { _mm512_stream_pd(p, v); }
  [[gnu::always_inline, TULLE_AVX512]] static vector scale(double a, vector v) { return _mm512_mul_pd(_mm512_set1_pd(a), v); }
  [[gnu::always_inline, TULLE_AVX512]] static index all(std::uint32_t i) { return _mm256_set1_epi32(static_cast<int>(i)); }
  /// The lane numbers of vector v of a slice.
  [[gnu::always_inline, TULLE_AVX512]] static index lane(int v) {
    const int l = v * lanes;
    return _mm256_setr_epi32(l, l + 1, l + 2, l + 3, l + 4, l + 5, l + 6, l + 7);
  }
  [[gnu::always_inline, TULLE_AVX512]] static index add(index a, index b) { return _mm256_add_epi32(a, b); }
  [[gnu::always_inline, TULLE_AVX512]] static index spread(mask m, index i) { return _mm256_maskz_expand_epi32(m, i); }
  template <class Offset>
  [[gnu::always_inline, TULLE_AVX512]] static index offsets(const unsigned char* p) {
    if constexpr (sizeof(Offset) == 1) {
      return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
    } else if constexpr (sizeof(Offset) == 2) {
      return _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    } else {
      return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    }
  }
};

template <>
struct lanes_avx512<float> {
  using vector = __m512;
  using index = __m512i;
  using mask = __mmask16;
  static constexpr int lanes = 16;
  [[gnu::always_inline, TULLE_AVX512]] static vector zero() { return _mm512_setzero_ps(); }
  [[gnu::always_inline, TULLE_AVX512]] static vector load(const float* p) { return _mm512_loadu_ps(p); }
  [[gnu::always_inline, TULLE_AVX512]] static vector load(mask m, const float* p) { return _mm512_maskz_loadu_ps(m, p); }
  [[gnu::always_inline, TULLE_AVX512]] static vector madd(vector a, vector b, vector c) { return _mm512_fmadd_ps(a, b, c); }
  [[gnu::always_inline, TULLE_AVX512]] static void store(float* p, vector v) { _mm512_storeu_ps(p, v); }
  [[gnu::always_inline, TULLE_AVX512]] static vector gather(mask m, index i, const float* x) {
    return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), m, i, x, 4);
  }
  [[gnu::always_inline, TULLE_AVX512]] static vector gather(index i, const float* x) { return _mm512_i32gather_ps(i, x, 4); }
  /// The same number by number.
  template <class Offset>
  [[gnu::always_inline, TULLE_AVX512]] static vector load_each(lane_reader<Offset, float> of) {
    return _mm512_insertf32x8(_mm512_castps256_ps512(eight(of, 0)), eight(of, 8), 1);
  }
  template <class Offset>
  [[gnu::always_inline, TULLE_AVX512]] static __m256 eight(lane_reader<Offset, float> of, int l) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(four(of, l)), four(of, l + 4), 1);
  }
  template <class Offset>
  [[gnu::always_inline, TULLE_AVX512]] static __m128 four(lane_reader<Offset, float> of, int l) {
    __m128 v = _mm_load_ss(of.at(l));
    v = _mm_insert_ps(v, _mm_load_ss(of.at(l + 1)), 0x10);
    v = _mm_insert_ps(v, _mm_load_ss(of.at(l + 2)), 0x20);
    return _mm_insert_ps(v, _mm_load_ss(of.at(l + 3)), 0x30);
  }
  [[gnu::always_inline, TULLE_AVX512]] static void stream(float* p, vector v) { _mm512_stream_ps(p, v); }
  [[gnu::always_inline, TULLE_AVX512]] static vector scale(float a, vector v) { return _mm512_mul_ps(_mm512_set1_ps(a), v); }
  [[gnu::always_inline, TULLE_AVX512]] static index all(std::uint32_t i) { return _mm512_set1_epi32(static_cast<int>(i)); }
  /// The lane numbers of vector v of a slice.
  [[gnu::always_inline, TULLE_AVX512]] static index lane(int v) {
    const int l = v * lanes;
    return _mm512_setr_epi32(l, l + 1, l + 2, l + 3, l + 4, l + 5, l + 6, l + 7, l + 8, l + 9, l + 10, l + 11, l + 12, l + 13,
                             l + 14, l + 15);
  }
  [[gnu::always_inline, TULLE_AVX512]] static index add(index a, index b) { return _mm512_add_epi32(a, b); }
  [[gnu::always_inline, TULLE_AVX512]] static index spread(mask m, index i) { return _mm512_maskz_expand_epi32(m, i); }
  template <class Offset>
  [[gnu::always_inline, TULLE_AVX512]] static index offsets(const unsigned char* p) {
    if constexpr (sizeof(Offset) == 1) {
      return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    } else if constexpr (sizeof(Offset) == 2) {
      return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
    } else {
      return _mm512_loadu_si512(p);
    }
  }
};

/// The 32 sums of a slice, whose values are read by `Slots`. `Ahead`: what follows is asked for. A flag in the loops takes
/// slices of three entries whose x comes from memory 1.5 times as long (Zen 4, f64).
template <class Slots, bool Ahead = true>
struct slice_sums_avx512 {
  using V = typename Slots::value;
  using raw = typename Slots::raw;
  using simd = lanes_avx512<V>;
  static constexpr int vectors = packed_lanes / simd::lanes;
  /// Where the next slice begins.
  struct cursor {
    const std::uint32_t* words;
    const raw* values;
  };

  Slots slots;
  bool by_loads;  // x number by number: where gathers are slower
  typename simd::vector sum[vectors];

  [[gnu::always_inline, TULLE_AVX512]] static typename simd::mask part(std::uint32_t mask, int v) {
    return static_cast<typename simd::mask>(mask >> (v * simd::lanes));
  }
  /// Masked lanes load nothing, so the address may lie outside x.
  [[gnu::always_inline, TULLE_AVX512]] static const V* at(const V* x, std::uint32_t column) {
    return reinterpret_cast<const V*>(reinterpret_cast<std::uintptr_t>(x) +
                                      static_cast<std::uintptr_t>(static_cast<std::intptr_t>(static_cast<std::int32_t>(column)) *
                                                                  static_cast<std::intptr_t>(sizeof(V))));
  }

  /// As prefetch_position, in both arrays where there are two.
  template <std::size_t Width>
  [[gnu::always_inline, TULLE_AVX512]] void prefetch(const cursor& c) const {
    if constexpr (!Ahead) return;
    prefetch_position<Width>(c.words, c.values, sizeof(raw));
    if constexpr (requires { slots.low_of(c.values); }) {
      for (std::size_t line = 0; line < packed_lanes * sizeof(raw); line += 64) {
        prefetch_ahead(slots.low_of(c.values), prefetch_bytes + line);
      }
    }
  }

  [[gnu::always_inline, TULLE_AVX512]] void add_full_diagonals(cursor& c, std::uint32_t count, const V* x) {
    for (std::uint32_t i = 0; i < count; ++i) {
      prefetch<0>(c);
      const V* from = x + static_cast<std::int32_t>(*c.words++);
      for (int v = 0; v < vectors; ++v) {
        sum[v] = simd::madd(slots.load(c.values + v * simd::lanes), simd::load(from + v * simd::lanes), sum[v]);
      }
      c.values += packed_lanes;
    }
  }

  [[gnu::always_inline, TULLE_AVX512]] void add_diagonals(cursor& c, std::uint32_t count, const V* x) {
    for (std::uint32_t i = 0; i < count; ++i, c.words += 2) {
      prefetch<0>(c);
      const std::uint32_t base = c.words[0], mask = c.words[1];
      for (int v = 0; v < vectors; ++v) {
        const auto m = part(mask, v);
        const auto from_x = simd::load(m, at(x, base + static_cast<std::uint32_t>(v * simd::lanes)));
        sum[v] = simd::madd(slots.expand(m, c.values), from_x, sum[v]);
        c.values += __builtin_popcount(m);
      }
    }
  }

  template <class Offset>
  [[gnu::always_inline, TULLE_AVX512]] void add_offsets(cursor& c, std::uint32_t count, const V* x) {
    constexpr bool padded = offsets_are_padded(sizeof(Offset));
    for (std::uint32_t i = 0; i < count; ++i) {
      prefetch<sizeof(Offset)>(c);
      const auto base = simd::all(c.words[0]);
      const std::uint32_t mask = c.words[1];
      const auto* bytes = reinterpret_cast<const unsigned char*>(c.words + 2);
      for (int v = 0; v < vectors; ++v) {
        const auto m = part(mask, v);
        const int entries = __builtin_popcount(m);
        const auto stored = simd::template offsets<Offset>(bytes);
        const auto column = simd::add(simd::add(base, simd::lane(v)), padded ? stored : simd::spread(m, stored));
        sum[v] = simd::madd(slots.expand(m, c.values), simd::gather(m, column, x), sum[v]);
        c.values += entries;
        bytes += (padded ? simd::lanes : entries) * static_cast<int>(sizeof(Offset));
      }
      c.words += 2 + (padded ? packed_lanes * sizeof(Offset) / 4 : static_cast<std::size_t>(__builtin_popcount(mask)));
    }
  }

  /// add_full with x loaded number by number.
  template <class Offset>
  [[gnu::always_inline, TULLE_AVX512]] void add_full_by_loads(cursor& c, std::uint32_t count, const V* x) {
    for (std::uint32_t i = 0; i < count; ++i) {
      prefetch<sizeof(Offset)>(c);
      const std::uint32_t base = *c.words++;
      const auto* bytes = reinterpret_cast<const unsigned char*>(c.words);
      for (int v = 0; v < vectors; ++v) {
        const auto lane = static_cast<std::uint32_t>(v * simd::lanes);
        const auto from_x = simd::load_each(lane_reader<Offset, V>{x, base + lane, bytes + lane * sizeof(Offset)});
        sum[v] = simd::madd(slots.load(c.values + v * simd::lanes), from_x, sum[v]);
      }
      c.values += packed_lanes;
      c.words += packed_lanes * sizeof(Offset) / 4;
    }
  }

  template <class Offset>
  [[gnu::always_inline, TULLE_AVX512]] void add_full(cursor& c, std::uint32_t count, const V* x) {
    if (by_loads) return add_full_by_loads<Offset>(c, count, x);
    for (std::uint32_t i = 0; i < count; ++i) {
      prefetch<sizeof(Offset)>(c);
      const auto base = simd::all(*c.words++);
      const auto* bytes = reinterpret_cast<const unsigned char*>(c.words);
      for (int v = 0; v < vectors; ++v) {
        const auto offset = simd::template offsets<Offset>(bytes + v * simd::lanes * static_cast<int>(sizeof(Offset)));
        const auto column = simd::add(simd::add(base, simd::lane(v)), offset);
        sum[v] = simd::madd(slots.load(c.values + v * simd::lanes), simd::gather(column, x), sum[v]);
      }
      c.values += packed_lanes;
      c.words += packed_lanes * sizeof(Offset) / 4;
    }
  }

  [[gnu::always_inline, TULLE_AVX512]] void add_run(cursor& c, run_header run, const V* x) {
    switch (run.kind) {
      case run_kind::full_diagonal: return add_full_diagonals(c, run.count, x);
      case run_kind::diagonal: return add_diagonals(c, run.count, x);
      case run_kind::full8: return add_full<std::uint8_t>(c, run.count, x);
      case run_kind::full16: return add_full<std::uint16_t>(c, run.count, x);
      case run_kind::full32: return add_full<std::uint32_t>(c, run.count, x);
      case run_kind::offsets8: return add_offsets<std::uint8_t>(c, run.count, x);
      case run_kind::offsets16: return add_offsets<std::uint16_t>(c, run.count, x);
      case run_kind::offsets32: return add_offsets<std::uint32_t>(c, run.count, x);
    }
  }

  /// Leaves the sums of one slice and moves on. Returns its row numbers, or null where they are in order.
  [[gnu::always_inline, TULLE_AVX512]] const std::uint32_t* add_slice(cursor& c, const V* x) {
    for (int v = 0; v < vectors; ++v) sum[v] = simd::zero();
    c.values = aligned_address(c.values, simd::lanes * sizeof(raw));
    run_header run = run_header::of(*c.words++);
    const std::uint32_t* rows = run.permuted ? c.words : nullptr;
    if (run.permuted) c.words += packed_lanes;
    for (;; run = run_header::of(*c.words++)) {
      add_run(c, run, x);
      if (run.last) return rows;
    }
  }
};

}  // namespace tulle::cpu
#endif
