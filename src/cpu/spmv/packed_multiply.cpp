#include "cpu/spmv/packed_multiply.hpp"

#include <algorithm>
#include <concepts>
#include <cstring>

#include "cpu/spmv/packed_avx2.hpp"
#include "cpu/spmv/packed_avx512.hpp"

namespace tulle::cpu {
namespace {

template <class Finish>
constexpr bool streams_y = false;
template <scalar V>
constexpr bool streams_y<streamed<V>> = true;
template <scalar V>
constexpr bool streams_y<streamed_dots<V>> = true;

template <scalar V>
using long_rows = std::span<const long_row<V>>;

/// Of one of them.
template <scalar V>
[[gnu::noinline]] V sum_of_row(long_rows<V> apart, index_t row) {
  return std::ranges::lower_bound(apart, row, {}, &long_row<V>::row)->sum;
}

/// Hands on the sums of the rows that `rows` numbers, of which long ones are among `apart`.
template <scalar V, class Finish>
[[gnu::always_inline]] inline void finish_numbered(index_t count, const std::uint32_t* rows, const V* sum,
                                                   long_rows<V> apart, Finish& out) {
  std::uint32_t any = 0;
  for (index_t l = 0; l < count; ++l) any |= rows[l];
  if ((any & long_row_flag) == 0) {
    for (index_t l = 0; l < count; ++l) out(static_cast<index_t>(rows[l]), sum[l]);
    return;
  }
  for (index_t l = 0; l < count; ++l) {
    const auto row = static_cast<index_t>(rows[l] & ~long_row_flag);
    out(row, (rows[l] & long_row_flag) == 0 ? sum[l] : sum_of_row(apart, row));
  }
}

/// Hands the sums of `count` rows to `out`: those from `first` on, or those that `rows` numbers.
template <scalar V, class Finish>
[[gnu::always_inline]] inline void finish_rows(index_t first, index_t count, const std::uint32_t* rows, const V* sum,
                                               long_rows<V> apart, Finish& out) {
  if (rows != nullptr) {
    finish_numbered(count, rows, sum, apart, out);
  } else if (count == packed_lanes && out.order == nullptr) {  // a constant count: unrolled, in vectors
#pragma omp simd
    for (index_t l = 0; l < packed_lanes; ++l) out.put(first + l, first + l, sum[l]);
  } else {
    for (index_t l = 0; l < count; ++l) out(first + l, sum[l]);
  }
}

#if TULLE_X86
template <scalar V>
inline constexpr int sum_vectors = packed_lanes / lanes_avx512<V>::lanes;

/// y = alpha sum, w . y and y . y of 32 rows in order, in vectors of as many lanes as the sums have.
template <bool Stream>
[[TULLE_AVX512, gnu::always_inline]] inline void finish_slice(index_t first, const __m512d* sums,
                                                              scaled_dots<double>& out) {
  using simd = lanes_avx512<double>;
  static_assert(simd::lanes == scaled_dots<double>::lanes);
  simd::vector wy = simd::load(out.wy), yy = simd::load(out.yy);
  for (int v = 0; v < sum_vectors<double>; ++v) {
    const index_t row = first + v * simd::lanes;
    const simd::vector y = simd::scale(out.out.alpha, sums[v]);
    if constexpr (Stream) {
      simd::stream(out.y + row, y);
    } else {
      simd::store(out.y + row, y);
    }
    wy = simd::madd(simd::load(out.w + row), y, wy);
    yy = simd::madd(y, y, yy);
  }
  simd::store(out.wy, wy);
  simd::store(out.yy, yy);
}

/// Hands on the sums of a slice, which are in vectors.
template <scalar V, class Finish>
[[TULLE_AVX512, gnu::always_inline]] inline void finish_vectors(index_t first, index_t count, const std::uint32_t* rows,
                                                                const typename lanes_avx512<V>::vector* sums,
                                                                long_rows<V> apart, Finish& out) {
  using simd = lanes_avx512<V>;
  const bool whole = rows == nullptr && count == packed_lanes;
  if constexpr (std::same_as<Finish, streamed<V>>) {
    if (whole) {
      for (int v = 0; v < sum_vectors<V>; ++v)
        simd::stream(out.y + first + v * simd::lanes, simd::scale(out.out.alpha, sums[v]));
      return;
    }
  }
  if constexpr (std::derived_from<Finish, scaled_dots<double>>) {
    if (whole && out.out.beta == 0 && out.order == nullptr) return finish_slice<streams_y<Finish>>(first, sums, out);
  }
  alignas(64) V sum[packed_lanes];
  for (int v = 0; v < sum_vectors<V>; ++v) simd::store(sum + v * simd::lanes, sums[v]);
  finish_rows(first, count, rows, static_cast<const V*>(sum), apart, out);
}

template <slot_kind Kind, bool Ahead = true, scalar V, class Finish>
[[TULLE_AVX512, gnu::noinline]] void multiply_avx512(const packed_part& part, const packed_values<V>& values,
                                                     long_rows<V> apart, const V* x, Finish& out) {
  using slots = slots_avx512<V, Kind>;
  slice_sums_avx512<slots, Ahead> sums{slots(values), values.x_by_loads, {}};
  typename slice_sums_avx512<slots, Ahead>::cursor at{part.words,
                                                      reinterpret_cast<const typename slots::raw*>(values.of(part))};
  for (index_t first = part.first; first < part.last; first += packed_lanes) {
    const std::uint32_t* rows = sums.add_slice(at, x);
    finish_vectors<V>(first, std::min(packed_lanes, part.last - first), rows, sums.sum, apart, out);
  }
  if constexpr (streams_y<Finish>) _mm_sfence();
}

/// Where the next slice begins.
struct sliced_cursor {
  const std::uint32_t* words;
  const std::byte* values;
  bool x_by_loads;
};

/// The sums of a slice, which begins there; its row numbers, or null.
template <class Slots>
[[TULLE_AVX512, gnu::noinline]] const std::uint32_t* add_slice(const Slots& slots, sliced_cursor& at, const double* x,
                                                               __m512d* to) {
  slice_sums_avx512<Slots> sums{slots, at.x_by_loads, {}};
  typename slice_sums_avx512<Slots>::cursor c{at.words, reinterpret_cast<const typename Slots::raw*>(at.values)};
  const std::uint32_t* rows = sums.add_slice(c, x);
  at.words = c.words, at.values = reinterpret_cast<const std::byte*>(c.values);
  for (int v = 0; v < sum_vectors<double>; ++v) to[v] = sums.sum[v];
  return rows;
}

/// Slices of forms of their own: compiled once for each form, whatever becomes of the sums.
template <class Finish>
[[TULLE_AVX512, gnu::noinline]] void multiply_sliced(const packed_part& part, const packed_values<double>& values,
                                                     long_rows<double> apart, const double* x, Finish& out) {
  using enum slot_kind;
  sliced_cursor at{part.words, values.of(part), values.x_by_loads};
  const slots_avx512<double, whole> whole_slots(values);
  const slots_avx512<double, f32> f32_slots(values);
  for (index_t first = part.first; first < part.last; first += packed_lanes) {
    __m512d sums[sum_vectors<double>];
    at.values = aligned_address(at.values, slice_alignment);
    const row_form form = run_header::of(*at.words).form;
    const std::uint32_t* rows = form == whole_form ? add_slice(whole_slots, at, x, sums)
                                : form == f32_form ? add_slice(f32_slots, at, x, sums)
                                                   : add_slice(slots_avx512<double, f16>(form), at, x, sums);
    finish_vectors<double>(first, std::min(packed_lanes, part.last - first), rows, sums, apart, out);
  }
  if constexpr (streams_y<Finish>) _mm_sfence();
}

template <scalar V, class Finish>
void multiply_avx512(const packed_part& part, const packed_values<V>& values, long_rows<V> apart, const V* x,
                     Finish& out) {
  using enum slot_kind;
  if constexpr (sizeof(V) == 8) {
    if (values.by_slice) return multiply_sliced(part, values, apart, x, out);
  }
  switch (values.storage) {
    case value_storage::f32:
      if constexpr (sizeof(V) == 8) return multiply_avx512<f32>(part, values, apart, x, out);
      break;
    case value_storage::bf16:
      return multiply_avx512<bf16>(part, values, apart, x, out);
    case value_storage::listed:
      return values.listed <= few_values<V> ? multiply_avx512<few>(part, values, apart, x, out)
                                            : multiply_avx512<listed>(part, values, apart, x, out);
    case value_storage::words:
      if constexpr (sizeof(V) == 8) return multiply_avx512<words>(part, values, apart, x, out);
      break;
    case value_storage::high:
      if constexpr (sizeof(V) == 8) return multiply_avx512<high>(part, values, apart, x, out);
      break;
    default:
      if constexpr (sizeof(V) == 8) {
        if (!values.ahead) return multiply_avx512<whole, /*Ahead=*/false>(part, values, apart, x, out);
      }
      break;
  }
  multiply_avx512<whole>(part, values, apart, x, out);
}
#endif

#if TULLE_X86
/// y = alpha sum. Held by value: y could be any of what is held elsewhere, as far as a compiler knows.
template <scalar V>
struct scaled_alone {
  V alpha;
  V* y;
  const index_t* order = nullptr;
  [[gnu::always_inline]] void put(index_t /*row*/, index_t at, V sum) const { y[at] = alpha * sum; }
  [[gnu::always_inline]] void operator()(index_t row, V sum) const { put(row, row, sum); }
};

/// Where the next slice begins.
struct slice_place {
  const std::uint32_t* words;
  const std::byte* values;
};

/// The sums of the slice there; its row numbers, or null.
template <class Slots, scalar V>
[[TULLE_AVX2FMA, gnu::noinline]] const std::uint32_t* sum_slice(const Slots& slots, slice_place& at,
                                                                std::span<const V> x, V* to) {
  slice_sums_avx2<Slots> sums(slots, x.size());
  typename slice_sums_avx2<Slots>::cursor c{at.words, reinterpret_cast<const typename Slots::raw*>(at.values)};
  const std::uint32_t* rows = sums.add_slice(c, x.data());
  at = {c.words, reinterpret_cast<const std::byte*>(c.values)};
  std::memcpy(to, sums.sum, sizeof(sums.sum));
  return rows;
}

/// The same of values that are not stored whole: compiled once for each way, whatever becomes of the sums.
template <scalar V>
[[TULLE_AVX2FMA]] const std::uint32_t* sum_narrow_slice(const packed_values<V>& values, slice_place& at,
                                                        std::span<const V> x, V* to) {
  using enum slot_kind;
  if constexpr (sizeof(V) == 8) {
    if (values.by_slice) {
      at.values = aligned_address(at.values, slice_alignment);
      const row_form form = run_header::of(*at.words).form;
      if (form == whole_form) return sum_slice(slots_avx2<V, whole>(values), at, x, to);
      if (form == f32_form) return sum_slice(slots_avx2<V, f32>(values), at, x, to);
      return sum_slice(slots_avx2<V, f16>(form), at, x, to);
    }
    if (values.storage == value_storage::f32) return sum_slice(slots_avx2<V, f32>(values), at, x, to);
    if (values.storage == value_storage::words) return sum_slice(slots_avx2<V, words>(values), at, x, to);
    if (values.storage == value_storage::high) return sum_slice(slots_avx2<V, high>(values), at, x, to);
  }
  if (values.storage == value_storage::bf16) return sum_slice(slots_avx2<V, bf16>(values), at, x, to);
  return values.listed <= few_values_avx2<V> ? sum_slice(slots_avx2<V, few>(values), at, x, to)
                                             : sum_slice(slots_avx2<V, listed>(values), at, x, to);
}

template <scalar V, class Finish>
[[TULLE_AVX2FMA, gnu::always_inline]] inline void multiply_slices_avx2(const packed_part& part,
                                                                       const packed_values<V>& values,
                                                                       long_rows<V> apart, std::span<const V> x,
                                                                       Finish& out) {
  using slots = slots_avx2<V, slot_kind::whole>;
  const bool as_used =
      values.storage == value_storage::whole || (values.storage == value_storage::f32 && sizeof(V) == 4);
  const bool whole = as_used && !values.by_slice;
  slice_sums_avx2<slots> sums(slots(values), x.size());
  typename slice_sums_avx2<slots>::cursor at{part.words, reinterpret_cast<const V*>(values.of(part))};
  slice_place narrow{part.words, values.of(part)};
  for (index_t first = part.first; first < part.last; first += packed_lanes) {
    alignas(64) V sum[packed_lanes];
    const std::uint32_t* rows;
    if (whole) {
      rows = sums.add_slice(at, x.data());
      std::memcpy(sum, sums.sum, sizeof(sum));
    } else {
      rows = sum_narrow_slice(values, narrow, x, sum);
    }
    finish_rows(first, std::min(packed_lanes, part.last - first), rows, static_cast<const V*>(sum), apart, out);
  }
}

template <scalar V, class Finish>
[[TULLE_AVX2FMA, gnu::noinline]] void multiply_avx2(const packed_part& part, const packed_values<V>& values,
                                                    long_rows<V> apart, std::span<const V> x, Finish& out) {
  if constexpr (std::derived_from<Finish, scaled<V>>) {
    if (out.out.beta == 0 && out.order == nullptr) {
      scaled_alone<V> alone{out.out.alpha, out.y};
      return multiply_slices_avx2(part, values, apart, x, alone);
    }
  }
  multiply_slices_avx2(part, values, apart, x, out);
}
#endif

template <bool Whole, scalar V, class Finish>
void multiply_portable(const packed_part& part, const packed_values<V>& values, long_rows<V> apart, const V* x,
                       Finish& out) {
  packed_cursor<V, Whole> at(part, values);
  for (index_t first = part.first; first < part.last; first += packed_lanes) {
    alignas(64) V sum[packed_lanes] = {};
    const std::uint32_t* rows = add_slice(at, x, sum);
    finish_rows(first, std::min(packed_lanes, part.last - first), rows, static_cast<const V*>(sum), apart, out);
  }
}

}  // namespace

template <scalar V, class Finish>
void multiply_packed(isa level, const packed_part& part, const packed_values<V>& values,
                     std::span<const long_row<V>> apart, std::span<const V> x, Finish& out) {
#if TULLE_X86
  if (level == isa::avx512) return multiply_avx512(part, values, apart, x.data(), out);
  if (level == isa::avx2) return multiply_avx2(part, values, apart, x, out);
#endif
  (void)level;
  if (values.storage == value_storage::whole && !values.by_slice)
    return multiply_portable<true>(part, values, apart, x.data(), out);
  multiply_portable<false>(part, values, apart, x.data(), out);
}

#define TULLE_INSTANTIATE_ONE(V, FINISH)                                                                        \
  template void multiply_packed(isa, const packed_part&, const packed_values<V>&, std::span<const long_row<V>>, \
                                std::span<const V>, FINISH<V>&);
#define TULLE_INSTANTIATE(V)              \
  TULLE_INSTANTIATE_ONE(V, scaled)        \
  TULLE_INSTANTIATE_ONE(V, streamed)      \
  TULLE_INSTANTIATE_ONE(V, scaled_dots)   \
  TULLE_INSTANTIATE_ONE(V, streamed_dots) \
  TULLE_INSTANTIATE_ONE(V, jacobi_step)
TULLE_INSTANTIATE(float)
TULLE_INSTANTIATE(double)
#undef TULLE_INSTANTIATE
#undef TULLE_INSTANTIATE_ONE

}  // namespace tulle::cpu
