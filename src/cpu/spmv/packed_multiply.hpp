// y = A x of one part of packed_format.hpp, for an instruction set.
#pragma once

#include <algorithm>
#include <concepts>

#include "cpu/spmv/finish.hpp"
#include "cpu/spmv/isa.hpp"
#include "cpu/spmv/packed_avx512.hpp"

namespace tulle::cpu {

/// y = alpha sum with stores that leave the caches alone: y starts on a cache line and is not read soon.
template <scalar T>
struct streamed : scaled<T> {};
template <scalar T>
struct streamed_dots : scaled_dots<T> {};

template <class Finish>
inline constexpr bool streams_y = false;
template <scalar T>
inline constexpr bool streams_y<streamed<T>> = true;
template <scalar T>
inline constexpr bool streams_y<streamed_dots<T>> = true;

/// Hands the sums of `count` rows to `out`: those from `first` on, or those that `rows` numbers.
template <scalar T, class Finish>
[[gnu::always_inline]] inline void finish_rows(index_t first, index_t count, const std::uint32_t* rows, const T* sum,
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
template <bool Stream>
[[TULLE_AVX512, gnu::always_inline]] inline void finish_slice(index_t first, const slice_sums_avx512<double>& sums,
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

template <scalar T, class Finish>
[[TULLE_AVX512, gnu::noinline]] void multiply_packed_avx512(const packed_part<T>& part, const T* x, Finish& out) {
  using simd = lanes_avx512<T>;
  packed_cursor<T> at{part.words, part.values};
  slice_sums_avx512<T> sums;
  for (index_t first = part.first; first < part.last; first += packed_lanes) {
    const std::uint32_t* rows = sums.add_slice(at, x);
    const index_t count = std::min(packed_lanes, part.last - first);
    if constexpr (std::same_as<Finish, streamed<T>>) {
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
    alignas(64) T sum[packed_lanes];
    for (int v = 0; v < sums.vectors; ++v) simd::store(sum + v * simd::lanes, sums.sum[v]);
    finish_rows(first, count, rows, sum, out);
  }
  if constexpr (streams_y<Finish>) _mm_sfence();
}
#endif

template <scalar T, class Finish>
void multiply_packed(isa level, const packed_part<T>& part, const T* x, Finish& out) {
#if TULLE_X86
  if (level == isa::avx512) return multiply_packed_avx512(part, x, out);
#endif
  with_isa(
      level, [&]() __attribute__((always_inline)) {
        packed_cursor<T> at{part.words, part.values};
        for (index_t first = part.first; first < part.last; first += packed_lanes) {
          alignas(64) T sum[packed_lanes] = {};
          const std::uint32_t* rows = add_slice(at, x, sum);
          finish_rows(first, std::min(packed_lanes, part.last - first), rows, sum, out);
        }
      });
}

}  // namespace tulle::cpu
