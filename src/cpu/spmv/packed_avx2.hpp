// The sums of one slice of packed_format.hpp with AVX2: x loaded number by number where there is no diagonal. Values of
// a masked position are brought to their lanes by permutations, which tables hold for the masks of a vector's lanes.
#pragma once

#include <array>
#include <bit>
#include <cstring>

#include "cpu/spmv/packed_slice.hpp"
#include "cpu/spmv/packed_values_avx2.hpp"

#if TULLE_X86

namespace tulle::cpu {

/// The lanes of vector v in a mask of all, and how many come before them.
template <int Lanes>
constexpr std::uint32_t lanes_in(std::uint32_t mask, int v) {
  return mask >> (v * Lanes) & ((1U << Lanes) - 1);
}
template <int Lanes>
constexpr int lanes_before(std::uint32_t mask, int v) {
  return std::popcount(mask & ((1U << (v * Lanes)) - 1));
}

/// For masks of eight lanes, and of four of 64 bits: which of the values that follow a lane takes, which is the number
/// of lanes before it; and all bits of the lanes that are in the mask.
struct lane_tables {
  alignas(8) std::uint8_t rank[256][8];
  alignas(32) std::int32_t wide_rank[16][8];  // in halves
  alignas(32) std::int64_t wide_inside[16][4];
};
constexpr lane_tables make_lane_tables() {
  lane_tables t{};
  for (unsigned mask = 0; mask < 256; ++mask) {
    for (unsigned lane = 0; lane < 8; ++lane) {
      const int before = std::popcount(mask & ((1U << lane) - 1));
      t.rank[mask][lane] = static_cast<std::uint8_t>(before);
      if (mask >= 16 || lane >= 4) continue;
      t.wide_rank[mask][2 * lane] = 2 * before;
      t.wide_rank[mask][2 * lane + 1] = 2 * before + 1;
      t.wide_inside[mask][lane] = (mask >> lane & 1) != 0 ? -1 : 0;
    }
  }
  return t;
}
inline constexpr lane_tables tables = make_lane_tables();

/// Offsets of neighbouring lanes, read four at a time and taken apart in registers: x itself takes a load a lane, and a
/// core makes two or three in a cycle (Zen 3, offsets of 16 bits in f32: 0.26 ns a nonzero, 0.30 loading each, 0.35 by
/// vectors of columns).
template <class Offset>
struct lane_offsets {
  const unsigned char* p;

  [[gnu::always_inline]] std::array<std::uint64_t, 4> four(int first) const {
    const unsigned char* const at = p + static_cast<std::size_t>(first) * sizeof(Offset);
    if constexpr (sizeof(Offset) == 1) {
      const auto w = word<std::uint32_t>(at);
      return {w & 0xff, w >> 8 & 0xff, w >> 16 & 0xff, w >> 24};
    } else if constexpr (sizeof(Offset) == 2) {
      const auto w = word<std::uint64_t>(at);
      return {w & 0xffff, w >> 16 & 0xffff, w >> 32 & 0xffff, w >> 48};
    } else {
      const auto low = word<std::uint64_t>(at), high = word<std::uint64_t>(at + 8);
      return {low & 0xffffffff, low >> 32, high & 0xffffffff, high >> 32};
    }
  }

 private:
  template <class Word>
  [[gnu::always_inline]] static Word word(const unsigned char* at) {
    Word w;
    std::memcpy(&w, at, sizeof(w));
    return w;
  }
};

/// What a vector of sums has of a position: its lanes that are in a mask, of values as many as these are, and a column
/// a lane.
template <scalar V>
struct packed_lanes_avx2;

template <>
struct packed_lanes_avx2<double> : avx2<double> {
  using columns = __m128i;
  using avx2<double>::gather;
  /// A sign in the lanes of vector v that are in the mask.
  [[gnu::always_inline, TULLE_AVX2FMA]] static __m256i inside(std::uint32_t mask, int v) {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(tables.wide_inside[lanes_in<lanes>(mask, v)]));
  }
  [[gnu::always_inline, TULLE_AVX2FMA]] static vector choose(vector no, vector yes, __m256i inside) {
    return _mm256_blendv_pd(no, yes, _mm256_castsi256_pd(inside));
  }
  [[gnu::always_inline, TULLE_AVX2FMA]] static vector load_inside(const double* p, __m256i inside) {
    return _mm256_maskload_pd(p, inside);
  }
  /// The first of `values` in the lanes of `m`, anything elsewhere.
  [[gnu::always_inline, TULLE_AVX2FMA]] static vector expand(vector values, std::uint32_t m) {
    const auto* rank = reinterpret_cast<const __m256i*>(tables.wide_rank[m]);
    return _mm256_castps_pd(_mm256_permutevar8x32_ps(_mm256_castpd_ps(values), _mm256_load_si256(rank)));
  }
  /// Lane l from x[l + its offset].
  template <class Offset>
  [[gnu::always_inline, TULLE_AVX2FMA]] static vector gather(const double* x, lane_offsets<Offset> offsets) {
    const auto o = offsets.four(0);
    return together(x + o[0], x + 1 + o[1], x + 2 + o[2], x + 3 + o[3]);
  }
  template <class Offset>
  [[gnu::always_inline, TULLE_AVX2FMA]] static columns offsets(const unsigned char* p) {
    if constexpr (sizeof(Offset) == 1) {
      int four;
      std::memcpy(&four, p, sizeof(four));
      return _mm_cvtepu8_epi32(_mm_cvtsi32_si128(four));
    }
    if constexpr (sizeof(Offset) == 2) return _mm_cvtepu16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  }
  /// Words from p on in the lanes of `m`.
  [[gnu::always_inline, TULLE_AVX2FMA]] static columns expand(const std::uint32_t* p, std::uint32_t m) {
    int rank;
    std::memcpy(&rank, tables.rank[m], sizeof(rank));
    const __m128 stored = _mm_loadu_ps(reinterpret_cast<const float*>(p));
    return _mm_castps_si128(_mm_permutevar_ps(stored, _mm_cvtepu8_epi32(_mm_cvtsi32_si128(rank))));
  }
  /// `first` + l + offsets[l] in lane l of the mask, 0 elsewhere.
  [[gnu::always_inline, TULLE_AVX2FMA]] static columns from(std::uint32_t first, columns offsets, std::uint32_t m) {
    const __m128i lane = _mm_add_epi32(_mm_set1_epi32(static_cast<int>(first)), _mm_setr_epi32(0, 1, 2, 3));
    const __m128i bit = _mm_setr_epi32(1, 2, 4, 8);
    const __m128i in = _mm_cmpeq_epi32(_mm_and_si128(_mm_set1_epi32(static_cast<int>(m)), bit), bit);
    return _mm_and_si128(_mm_add_epi32(lane, offsets), in);
  }
};

template <>
struct packed_lanes_avx2<float> : avx2<float> {
  using columns = __m256i;
  using avx2<float>::gather;
  [[gnu::always_inline, TULLE_AVX2FMA]] static __m256i inside(std::uint32_t mask, int v) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i to_sign = _mm256_sub_epi32(_mm256_set1_epi32(31 - v * lanes), lane);
    return _mm256_sllv_epi32(_mm256_set1_epi32(static_cast<int>(mask)), to_sign);
  }
  [[gnu::always_inline, TULLE_AVX2FMA]] static vector choose(vector no, vector yes, __m256i inside) {
    return _mm256_blendv_ps(no, yes, _mm256_castsi256_ps(inside));
  }
  [[gnu::always_inline, TULLE_AVX2FMA]] static vector load_inside(const float* p, __m256i inside) {
    return _mm256_maskload_ps(p, inside);
  }
  [[gnu::always_inline, TULLE_AVX2FMA]] static vector expand(vector values, std::uint32_t m) {
    return _mm256_permutevar8x32_ps(values, ranks(m));
  }
  template <class Offset>
  [[gnu::always_inline, TULLE_AVX2FMA]] static vector gather(const float* x, lane_offsets<Offset> offsets) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(four_from(x, offsets.four(0))),
                                four_from(x + 4, offsets.four(4)), 1);
  }
  template <class Offset>
  [[gnu::always_inline, TULLE_AVX2FMA]] static columns offsets(const unsigned char* p) {
    const auto* at = reinterpret_cast<const __m128i*>(p);
    if constexpr (sizeof(Offset) == 1) return _mm256_cvtepu8_epi32(_mm_loadl_epi64(at));
    if constexpr (sizeof(Offset) == 2) return _mm256_cvtepu16_epi32(_mm_loadu_si128(at));
  }
  [[gnu::always_inline, TULLE_AVX2FMA]] static columns expand(const std::uint32_t* p, std::uint32_t m) {
    return _mm256_permutevar8x32_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)), ranks(m));
  }
  [[gnu::always_inline, TULLE_AVX2FMA]] static columns from(std::uint32_t first, columns offsets, std::uint32_t m) {
    const __m256i lane =
        _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(first)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    return _mm256_and_si256(_mm256_add_epi32(lane, offsets), _mm256_srai_epi32(inside(m, 0), 31));
  }

 private:
  [[gnu::always_inline, TULLE_AVX2FMA]] static __m256i ranks(std::uint32_t m) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(tables.rank[m])));
  }
  [[gnu::always_inline, TULLE_AVX2FMA]] static __m128 four_from(const float* x, const std::array<std::uint64_t, 4>& o) {
    return together(x + o[0], x + 1 + o[1], x + 2 + o[2], x + 3 + o[3]);
  }
};

/// The 32 sums of a slice, whose values are read by `Slots`.
template <class Slots>
struct slice_sums_avx2 {
  using V = typename Slots::value;
  using raw = typename Slots::raw;
  using simd = packed_lanes_avx2<V>;
  using vector = typename simd::vector;
  static constexpr int lanes = simd::lanes, vectors = packed_lanes / lanes;
  struct cursor {
    const std::uint32_t* words;
    const raw* values;
  };

  Slots slots;

  /// Positions from these places on read x, with any offset of 0, within its elements.
  std::uint32_t inner_places;
  vector sum[vectors];

  [[gnu::always_inline, TULLE_AVX2FMA]] slice_sums_avx2(const Slots& of, std::size_t columns)
      : slots(of), inner_places(columns < packed_lanes ? 0 : static_cast<std::uint32_t>(columns) - packed_lanes + 1) {}

  /// Leaves the sums of one slice and moves on. Returns its row numbers, or null where they are in order.
  [[gnu::always_inline, TULLE_AVX2FMA]] const std::uint32_t* add_slice(cursor& c, const V* x) {
    for (int v = 0; v < vectors; ++v) sum[v] = simd::zero();
    c.values = aligned_address(c.values, static_cast<std::size_t>(slots_at_once(sizeof(V))) * sizeof(raw));
    run_header run = run_header::of(*c.words++);
    const std::uint32_t* rows = run.permuted ? c.words : nullptr;
    if (run.permuted) c.words += packed_lanes;
    for (;; run = run_header::of(*c.words++)) {
      add_run(c, run, x);
      if (run.last) return rows;
    }
  }

 private:
  /// As prefetch_position, in both arrays where there are two.
  template <std::size_t Width>
  [[gnu::always_inline, TULLE_AVX2FMA]] void prefetch(const cursor& c) const {
    prefetch_position<Width>(c.words, c.values, sizeof(raw));
    if constexpr (requires { slots.low_of(c.values); }) {
      for (std::size_t line = 0; line < packed_lanes * sizeof(raw); line += 64)
        prefetch_ahead(slots.low_of(c.values), prefetch_bytes + line);
    }
  }
  [[gnu::always_inline]] static const V* at(const V* x, std::uint32_t place) {
    return x + static_cast<std::int32_t>(place);
  }
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
      prefetch<0>(c);
      const V* from = at(x, *c.words++);
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) {
        sum[v] = simd::madd(slots.load(c.values + v * lanes), simd::load(from + v * lanes), sum[v]);
      }
    }
  }

  /// sum += the next values times x(v, inside), in the lanes of the mask. Where the values of a vector begin follows
  /// from the mask alone: none waits for those before it.
  template <class X>
  [[gnu::always_inline, TULLE_AVX2FMA]] void add_masked(cursor& c, std::uint32_t mask, const X& x) {
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      const __m256i inside = simd::inside(mask, v);
      const vector value = simd::expand(slots.load(c.values + lanes_before<lanes>(mask, v)), lanes_in<lanes>(mask, v));
      sum[v] = simd::choose(sum[v], simd::madd(value, x(v, inside), sum[v]), inside);
    }
    c.values += std::popcount(mask);
  }

  [[gnu::always_inline, TULLE_AVX2FMA]] void add_diagonals(cursor& c, std::uint32_t count, const V* x) {
    for (std::uint32_t i = 0; i < count; ++i, c.words += 2) {
      prefetch<0>(c);
      add_masked(c, c.words[1], x_on_diagonal{at(x, c.words[0])});
    }
  }

  template <class Offset>
  [[gnu::always_inline, TULLE_AVX2FMA]] void add_full(cursor& c, std::uint32_t count, const V* x) {
    for (std::uint32_t i = 0; i < count; ++i, c.values += packed_lanes) {
      prefetch<sizeof(Offset)>(c);
      const V* from = at(x, *c.words++);
      const auto* offsets = reinterpret_cast<const unsigned char*>(c.words);
#pragma GCC unroll 8
      for (int lane = 0; lane < packed_lanes; lane += lanes) {
        const vector from_x = simd::gather(from + lane, lane_offsets<Offset>{offsets + lane * sizeof(Offset)});
        sum[lane / lanes] = simd::madd(slots.load(c.values + lane), from_x, sum[lane / lanes]);
      }
      c.words += packed_lanes * sizeof(Offset) / 4;
    }
  }

  template <class Offset>
  [[gnu::always_inline, TULLE_AVX2FMA]] void add_offsets(cursor& c, std::uint32_t count, const V* x) {
    constexpr bool padded = offsets_are_padded(sizeof(Offset));
    for (std::uint32_t i = 0; i < count; ++i) {
      prefetch<sizeof(Offset)>(c);
      const std::uint32_t base = c.words[0], mask = c.words[1];
      c.words += 2;
      if (padded && base < inner_places) {
        add_masked(c, mask, x_within<Offset>{x + base, reinterpret_cast<const unsigned char*>(c.words)});
      } else {
        add_masked(c, mask, x_at_columns<Offset>{x, base, mask, c.words});
      }
      c.words += padded ? packed_lanes * sizeof(Offset) / 4 : static_cast<std::size_t>(std::popcount(mask));
    }
  }

  // Numbers of x for the lanes of vector v of a masked position.
  struct x_on_diagonal {
    const V* from;

    [[gnu::always_inline, TULLE_AVX2FMA]] vector operator()(int v, __m256i inside) const {
      return simd::load_inside(from + v * lanes, inside);
    }
  };
  /// Lanes without an entry have offset 0: some number of x, where it goes on for all lanes.
  template <class Offset>
  struct x_within {
    const V* from;
    const unsigned char* offsets;

    [[gnu::always_inline, TULLE_AVX2FMA]] vector operator()(int v, __m256i) const {
      return simd::gather(from + v * lanes, lane_offsets<Offset>{offsets + v * lanes * sizeof(Offset)});
    }
  };
  /// x[0] in lanes without an entry: at the ends of x, and of offsets of 32 bits, which such lanes have not.
  template <class Offset>
  struct x_at_columns {
    const V* x;
    std::uint32_t base, mask;
    const std::uint32_t* words;

    [[gnu::always_inline, TULLE_AVX2FMA]] vector operator()(int v, __m256i) const {
      const std::uint32_t m = lanes_in<lanes>(mask, v);
      return simd::gather(x, simd::from(base + static_cast<std::uint32_t>(v * lanes), offsets(v, m), m));
    }
    [[gnu::always_inline, TULLE_AVX2FMA]] typename simd::columns offsets(int v, std::uint32_t m) const {
      if constexpr (offsets_are_padded(sizeof(Offset))) {
        const auto* all = reinterpret_cast<const unsigned char*>(words);
        return simd::template offsets<Offset>(all + v * lanes * sizeof(Offset));
      } else {
        return simd::expand(words + lanes_before<lanes>(mask, v), m);
      }
    }
  };
};

}  // namespace tulle::cpu
#endif
