// The sums of one slice of packed_format.hpp with AVX2: values stored whole, x loaded number by number where there is
// no diagonal. Values of a masked position are brought to their lanes by permutations of four, which tables hold for
// the 16 masks of four lanes.
#pragma once

#include <array>
#include <cstring>

#include "cpu/spmv/packed_slice.hpp"
#include "cpu/spmv/row_avx2.hpp"

#if TULLE_X86

namespace tulle::cpu {

/// For each mask of four lanes: all bits of the lanes that are in it, and which of the values that follow each takes.
struct four_lanes {
  alignas(16) std::int32_t inside[16][4];
  alignas(16) std::int32_t rank[16][4];
  alignas(32) std::int32_t wide_inside[16][8];  // of lanes of 64 bits
  alignas(32) std::int32_t wide_rank[16][8];
};
constexpr four_lanes make_four_lanes() {
  four_lanes t{};
  for (int mask = 0; mask < 16; ++mask) {
    for (int lane = 0, rank = 0; lane < 4; ++lane) {
      const int in = mask >> lane & 1;
      t.inside[mask][lane] = -in;
      t.rank[mask][lane] = in * rank;
      for (int half = 0; half < 2; ++half) {
        t.wide_inside[mask][2 * lane + half] = -in;
        t.wide_rank[mask][2 * lane + half] = in * 2 * rank + half;
      }
      rank += in;
    }
  }
  return t;
}
inline constexpr four_lanes lanes_of = make_four_lanes();

[[gnu::always_inline, TULLE_AVX2FMA]] inline __m128i load_four(const std::int32_t* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
[[gnu::always_inline, TULLE_AVX2FMA]] inline __m256i load_eight(const std::int32_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}

/// What a vector of sums has of a position: bits of a mask, and of values as many as the mask has.
template <scalar V>
struct packed_lanes_avx2;

template <>
struct packed_lanes_avx2<double> : avx2<double> {
  [[gnu::always_inline, TULLE_AVX2FMA]] static __m256i inside(std::uint32_t m) {
    return load_eight(lanes_of.wide_inside[m]);
  }
  [[gnu::always_inline, TULLE_AVX2FMA]] static vector only(vector v, __m256i inside) {
    return _mm256_and_pd(v, _mm256_castsi256_pd(inside));
  }
  /// -0 elsewhere: its product with 0 leaves any sum as it is, -0 included.
  [[gnu::always_inline, TULLE_AVX2FMA]] static vector factor(vector v, __m256i inside) {
    return _mm256_blendv_pd(_mm256_set1_pd(-0.0), v, _mm256_castsi256_pd(inside));
  }
  [[gnu::always_inline, TULLE_AVX2FMA]] static vector load_inside(const double* p, __m256i inside) {
    return _mm256_maskload_pd(p, inside);
  }
  /// The values from `next` on in the lanes of `m`, which moves on.
  [[gnu::always_inline, TULLE_AVX2FMA]] static vector expand(const double*& next, std::uint32_t m) {
    const __m256 stored = _mm256_castpd_ps(load(next));
    next += __builtin_popcount(m);
    return _mm256_castps_pd(_mm256_permutevar8x32_ps(stored, load_eight(lanes_of.wide_rank[m])));
  }
};

template <>
struct packed_lanes_avx2<float> : avx2<float> {
  [[gnu::always_inline, TULLE_AVX2FMA]] static __m256i inside(std::uint32_t m) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(load_four(lanes_of.inside[m & 15])),
                                   load_four(lanes_of.inside[m >> 4]), 1);
  }
  [[gnu::always_inline, TULLE_AVX2FMA]] static vector only(vector v, __m256i inside) {
    return _mm256_and_ps(v, _mm256_castsi256_ps(inside));
  }
  [[gnu::always_inline, TULLE_AVX2FMA]] static vector factor(vector v, __m256i inside) {
    return _mm256_blendv_ps(_mm256_set1_ps(-0.0F), v, _mm256_castsi256_ps(inside));
  }
  [[gnu::always_inline, TULLE_AVX2FMA]] static vector load_inside(const float* p, __m256i inside) {
    return _mm256_maskload_ps(p, inside);
  }
  [[gnu::always_inline, TULLE_AVX2FMA]] static vector expand(const float*& next, std::uint32_t m) {
    const __m128 low = expand_four(next, m & 15), high = expand_four(next, m >> 4);
    return _mm256_insertf128_ps(_mm256_castps128_ps256(low), high, 1);
  }

 private:
  [[gnu::always_inline, TULLE_AVX2FMA]] static __m128 expand_four(const float*& next, std::uint32_t m) {
    const __m128 stored = _mm_loadu_ps(next);
    next += __builtin_popcount(m);
    return _mm_permutevar_ps(stored, load_four(lanes_of.rank[m]));
  }
};

/// The columns of a position's lanes; 0 of lanes without an entry.
class lane_columns {
 public:
  [[gnu::always_inline]] const index_t* operator+(int lane) const { return columns_ + lane; }

  /// Of offsets that every lane has.
  template <class Offset>
  [[gnu::always_inline, TULLE_AVX2FMA]] void set(std::uint32_t base, const std::uint32_t* words) {
    for (int l = 0; l < packed_lanes; l += 8) store(l, base, eight<Offset>(words, l));
  }
  template <class Offset>
  [[gnu::always_inline, TULLE_AVX2FMA]] void set(std::uint32_t base, std::uint32_t mask, const std::uint32_t* words) {
    for (int l = 0; l < packed_lanes; l += 8) {
      const std::uint32_t m = mask >> l & 255;
      const __m256i offsets = offsets_are_padded(sizeof(Offset)) ? eight<Offset>(words, l) : spread(words, m);
      store(l, base, offsets, packed_lanes_avx2<float>::inside(m));
    }
  }

 private:
  template <class Offset>
  [[gnu::always_inline, TULLE_AVX2FMA]] static __m256i eight(const std::uint32_t* words, int lane) {
    const auto* at = reinterpret_cast<const unsigned char*>(words) + static_cast<std::size_t>(lane) * sizeof(Offset);
    const auto* two = reinterpret_cast<const __m128i*>(at);
    if constexpr (sizeof(Offset) == 1) return _mm256_cvtepu8_epi32(_mm_loadl_epi64(two));
    if constexpr (sizeof(Offset) == 2) return _mm256_cvtepu16_epi32(_mm_loadu_si128(two));
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  }
  /// Of 32 bits, which lanes without an entry have not.
  [[gnu::always_inline, TULLE_AVX2FMA]] static __m256i spread(const std::uint32_t*& words, std::uint32_t m) {
    const auto* next = reinterpret_cast<const float*>(words);
    const __m256 found = packed_lanes_avx2<float>::expand(next, m);
    words = reinterpret_cast<const std::uint32_t*>(next);
    return _mm256_castps_si256(found);
  }
  [[gnu::always_inline, TULLE_AVX2FMA]] void store(int lane, std::uint32_t base, __m256i offsets,
                                                   __m256i inside = _mm256_set1_epi32(-1)) {
    const __m256i first =
        _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(base) + lane), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    _mm256_store_si256(reinterpret_cast<__m256i*>(columns_ + lane),
                       _mm256_and_si256(_mm256_add_epi32(first, offsets), inside));
  }

  alignas(32) index_t columns_[packed_lanes];
};

template <scalar V>
struct slice_sums_avx2 {
  using simd = packed_lanes_avx2<V>;
  using vector = typename simd::vector;
  static constexpr int lanes = simd::lanes, vectors = packed_lanes / lanes;
  struct cursor {
    const std::uint32_t* words;
    const V* values;
  };

  vector sum[vectors];

  /// Leaves the sums of one slice and moves on. Returns its row numbers, or null where they are in order.
  [[gnu::always_inline, TULLE_AVX2FMA]] const std::uint32_t* add_slice(cursor& c, const V* x) {
    for (int v = 0; v < vectors; ++v) sum[v] = simd::zero();
    c.values = aligned_address(c.values, std::size_t{64});
    run_header run = run_header::of(*c.words++);
    const std::uint32_t* rows = run.permuted ? c.words : nullptr;
    if (run.permuted) c.words += packed_lanes;
    for (;; run = run_header::of(*c.words++)) {
      add_run(c, run, x);
      if (run.last) return rows;
    }
  }

 private:
  [[gnu::always_inline]] static const V* at(const V* x, std::uint32_t place) {
    return x + static_cast<std::int32_t>(place);
  }
  static constexpr std::uint32_t part(std::uint32_t mask, int v) { return mask >> (v * lanes) & ((1U << lanes) - 1); }

  [[gnu::always_inline, TULLE_AVX2FMA]] void add_run(cursor& c, run_header run, const V* x) {
    switch (run.kind) {
      case run_kind::full_diagonal:
        return add_full_diagonals(c, run.count, x);
      case run_kind::diagonal:
        return add_diagonals(c, run.count, x);
      case run_kind::full8:
        return add_full<std::uint8_t>(c, run.count, x);
      case run_kind::full16:
        return add_full<std::uint16_t>(c, run.count, x);
      case run_kind::full32:
        return add_full<std::uint32_t>(c, run.count, x);
      case run_kind::offsets8:
        return add_offsets<std::uint8_t>(c, run.count, x);
      case run_kind::offsets16:
        return add_offsets<std::uint16_t>(c, run.count, x);
      case run_kind::offsets32:
        return add_offsets<std::uint32_t>(c, run.count, x);
    }
  }

  [[gnu::always_inline, TULLE_AVX2FMA]] void add_full_diagonals(cursor& c, std::uint32_t count, const V* x) {
    for (std::uint32_t i = 0; i < count; ++i, c.values += packed_lanes) {
      prefetch_position<0>(c.words, c.values, sizeof(V));
      const V* from = at(x, *c.words++);
      for (int v = 0; v < vectors; ++v) {
        sum[v] = simd::madd(simd::load(c.values + v * lanes), simd::load(from + v * lanes), sum[v]);
      }
    }
  }

  [[gnu::always_inline, TULLE_AVX2FMA]] void add_diagonals(cursor& c, std::uint32_t count, const V* x) {
    for (std::uint32_t i = 0; i < count; ++i, c.words += 2) {
      prefetch_position<0>(c.words, c.values, sizeof(V));
      const V* from = at(x, c.words[0]);
      for (int v = 0; v < vectors; ++v) {
        const std::uint32_t m = part(c.words[1], v);
        const __m256i inside = simd::inside(m);
        const vector value = simd::factor(simd::expand(c.values, m), inside);
        sum[v] = simd::madd(value, simd::load_inside(from + v * lanes, inside), sum[v]);
      }
    }
  }

  template <class Offset>
  [[gnu::always_inline, TULLE_AVX2FMA]] void add_full(cursor& c, std::uint32_t count, const V* x) {
    lane_columns columns;
    for (std::uint32_t i = 0; i < count; ++i, c.values += packed_lanes) {
      prefetch_position<sizeof(Offset)>(c.words, c.values, sizeof(V));
      columns.set<Offset>(c.words[0], c.words + 1);
      for (int v = 0; v < vectors; ++v) {
        const vector from_x = simd::template gather<lanes>(x, columns + v * lanes);
        sum[v] = simd::madd(simd::load(c.values + v * lanes), from_x, sum[v]);
      }
      c.words += 1 + packed_lanes * sizeof(Offset) / 4;
    }
  }

  template <class Offset>
  [[gnu::always_inline, TULLE_AVX2FMA]] void add_offsets(cursor& c, std::uint32_t count, const V* x) {
    lane_columns columns;
    for (std::uint32_t i = 0; i < count; ++i) {
      prefetch_position<sizeof(Offset)>(c.words, c.values, sizeof(V));
      const std::uint32_t mask = c.words[1];
      columns.set<Offset>(c.words[0], mask, c.words + 2);
      for (int v = 0; v < vectors; ++v) {
        const std::uint32_t m = part(mask, v);
        const __m256i inside = simd::inside(m);
        const vector value = simd::factor(simd::expand(c.values, m), inside);
        const vector from_x = simd::only(simd::template gather<lanes>(x, columns + v * lanes), inside);
        sum[v] = simd::madd(value, from_x, sum[v]);
      }
      c.words += 2 + (offsets_are_padded(sizeof(Offset)) ? packed_lanes * sizeof(Offset) / 4
                                                         : static_cast<std::size_t>(__builtin_popcount(mask)));
    }
  }
};

}  // namespace tulle::cpu
#endif
