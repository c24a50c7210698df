// y = A x of one part of packed_format.hpp, for an instruction set.
#pragma once

#include <algorithm>

#include "cpu/spmv/isa.hpp"
#include "cpu/spmv/packed_avx512.hpp"

namespace tulle::cpu {

/// Hands the sums of `count` rows to `out`.
template <scalar T, class Finish>
[[gnu::always_inline]] inline void finish_rows(index_t first, index_t count, const T* sum, Finish& out) {
  if (count == packed_lanes) {  // a constant count: unrolled, in vectors
#pragma omp simd
    for (index_t l = 0; l < packed_lanes; ++l) out(first + l, sum[l]);
  } else {
    for (index_t l = 0; l < count; ++l) out(first + l, sum[l]);
  }
}

#if TULLE_X86
template <scalar T, class Finish>
[[TULLE_AVX512, gnu::noinline]] void multiply_packed_avx512(const packed_part<T>& part, const T* x, Finish& out) {
  using simd = lanes_avx512<T>;
  packed_cursor<T> at{part.words.data(), part.values.data()};
  alignas(64) T sum[packed_lanes];
  slice_sums_avx512<T> sums;
  for (index_t first = part.first; first < part.last; first += packed_lanes) {
    sums.add_slice(at, x);
    for (int v = 0; v < sums.vectors; ++v) simd::store(sum + v * simd::lanes, sums.sum[v]);
    finish_rows(first, std::min(packed_lanes, part.last - first), sum, out);
  }
}
#endif

template <scalar T, class Finish>
void multiply_packed(isa level, const packed_part<T>& part, const T* x, Finish& out) {
#if TULLE_X86
  if (level == isa::avx512) return multiply_packed_avx512(part, x, out);
#endif
  with_isa(
      level, [&]() __attribute__((always_inline)) {
        packed_cursor<T> at{part.words.data(), part.values.data()};
        for (index_t first = part.first; first < part.last; first += packed_lanes) {
          alignas(64) T sum[packed_lanes] = {};
          add_slice(at, x, sum);
          finish_rows(first, std::min(packed_lanes, part.last - first), sum, out);
        }
      });
}

}  // namespace tulle::cpu
