#include "cpu/spmv/packed_multiply.hpp"

#include <algorithm>
#include <concepts>

#include "cpu/spmv/packed_avx512.hpp"

namespace tulle::cpu {
namespace {

template <class Finish>
constexpr bool streams_y = false;
template <scalar V>
constexpr bool streams_y<streamed<V>> = true;
template <scalar V>
constexpr bool streams_y<streamed_dots<V>> = true;

/// Hands the sums of `count` rows to `out`: those from `first` on, or those that `rows` numbers.
template <scalar V, class Finish>
[[gnu::always_inline]] inline void finish_rows(index_t first, index_t count, const std::uint32_t* rows, const V* sum,
                                               Finish& out) {
  if (rows != nullptr) {
    for (index_t l = 0; l < count; ++l) out(static_cast<index_t>(rows[l]), sum[l]);
  } else if (count == packed_lanes && out.order == nullptr) {  // a constant count: unrolled, in vectors
#pragma omp simd
    for (index_t l = 0; l < packed_lanes; ++l) out.put(first + l, first + l, sum[l]);
  } else {
    for (index_t l = 0; l < count; ++l) out(first + l, sum[l]);
  }
}

#if TULLE_X86
/// y = alpha sum, w . y and y . y of 32 rows in order, in vectors of as many lanes as the sums have.
template <bool Stream, class Sums>
[[TULLE_AVX512, gnu::always_inline]] inline void finish_slice(index_t first, const Sums& sums,
                                                              scaled_dots<double>& out) {
  using simd = lanes_avx512<double>;
  static_assert(simd::lanes == scaled_dots<double>::lanes);
  simd::vector wy = simd::load(out.wy), yy = simd::load(out.yy);
  for (int v = 0; v < sums.vectors; ++v) {
    const index_t row = first + v * simd::lanes;
    const simd::vector y = simd::scale(out.out.alpha, sums.sum[v]);
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

template <slot_kind Kind, scalar V, class Finish>
[[TULLE_AVX512, gnu::noinline]] void multiply_avx512(const packed_part& part, const packed_values<V>& values,
                                                     const V* x, Finish& out) {
  using simd = lanes_avx512<V>;
  using slots = slots_avx512<V, Kind>;
  slice_sums_avx512<slots> sums{slots(values), {}};
  typename slice_sums_avx512<slots>::cursor at{part.words,
                                               reinterpret_cast<const typename slots::raw*>(values.of(part))};
  for (index_t first = part.first; first < part.last; first += packed_lanes) {
    const std::uint32_t* rows = sums.add_slice(at, x);
    const index_t count = std::min(packed_lanes, part.last - first);
    if constexpr (std::same_as<Finish, streamed<V>>) {
      if (rows == nullptr && count == packed_lanes) {
        for (int v = 0; v < sums.vectors; ++v) {
          simd::stream(out.y + first + v * simd::lanes, simd::scale(out.out.alpha, sums.sum[v]));
        }
        continue;
      }
    }
    if constexpr (std::derived_from<Finish, scaled_dots<double>>) {
      if (rows == nullptr && count == packed_lanes && out.out.beta == 0 && out.order == nullptr) {
        finish_slice<streams_y<Finish>>(first, sums, out);
        continue;
      }
    }
    alignas(64) V sum[packed_lanes];
    for (int v = 0; v < sums.vectors; ++v) simd::store(sum + v * simd::lanes, sums.sum[v]);
    finish_rows(first, count, rows, sum, out);
  }
  if constexpr (streams_y<Finish>) _mm_sfence();
}

template <scalar V, class Finish>
void multiply_avx512(const packed_part& part, const packed_values<V>& values, const V* x, Finish& out) {
  using enum slot_kind;
  switch (values.storage) {
    case value_storage::f32:
      if constexpr (sizeof(V) == 8) return multiply_avx512<f32>(part, values, x, out);
      break;
    case value_storage::bf16:
      return multiply_avx512<bf16>(part, values, x, out);
    case value_storage::listed:
      return values.listed <= few_values<V> ? multiply_avx512<few>(part, values, x, out)
                                            : multiply_avx512<listed>(part, values, x, out);
    default:
      break;
  }
  multiply_avx512<whole>(part, values, x, out);
}
#endif

template <bool Whole, scalar V, class Finish>
void multiply_portable(isa level, const packed_part& part, const packed_values<V>& values, const V* x, Finish& out) {
  const auto body = [&]() __attribute__((always_inline)) {
    packed_cursor<V, Whole> at(part, values);
    for (index_t first = part.first; first < part.last; first += packed_lanes) {
      alignas(64) V sum[packed_lanes] = {};
      const std::uint32_t* rows = add_slice(at, x, sum);
      finish_rows(first, std::min(packed_lanes, part.last - first), rows, sum, out);
    }
  };
#if TULLE_X86
  if (level == isa::avx2) return run_avx2(body);
#endif
  (void)level;
  body();
}

}  // namespace

template <scalar V, class Finish>
void multiply_packed(isa level, const packed_part& part, const packed_values<V>& values, const V* x, Finish& out) {
#if TULLE_X86
  if (level == isa::avx512) return multiply_avx512(part, values, x, out);
#endif
  if (values.storage == value_storage::whole) return multiply_portable<true>(level, part, values, x, out);
  multiply_portable<false>(level, part, values, x, out);
}

#define TULLE_INSTANTIATE_ONE(V, FINISH) \
  template void multiply_packed(isa, const packed_part&, const packed_values<V>&, const V*, FINISH<V>&);
#define TULLE_INSTANTIATE(V)            \
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
