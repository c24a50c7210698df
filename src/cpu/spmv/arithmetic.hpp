// The sum of one row, and how it is written to y.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <tulle/core/types.hpp>

#include "cpu/spmv/isa.hpp"

namespace tulle::cpu {

/// What a sum is held in: the value type itself; unsigned for i32, whose sums are taken modulo 2^32.
template <scalar T>
using sum_of = std::conditional_t<std::same_as<T, std::int32_t>, std::uint32_t, T>;

/// sum of values[k] x[colind[k]] over k in [begin, end).
template <isa Level, scalar T, offset O>
[[gnu::always_inline]] inline sum_of<T> row_sum(const T* values, const index_t* colind, const T* x, O begin, O end) {
  sum_of<T> sum = 0;
#pragma omp simd reduction(+ : sum)
  for (O k = begin; k < end; ++k) sum += static_cast<sum_of<T>>(values[k]) * static_cast<sum_of<T>>(x[colind[k]]);
  return sum;
}

/// y = alpha sum + beta y for one element; beta = 0 does not read y.
template <scalar T>
struct epilogue {
  sum_of<T> alpha;
  sum_of<T> beta;

  epilogue(double a, double b)
      : alpha(static_cast<sum_of<T>>(static_cast<T>(a))), beta(static_cast<sum_of<T>>(static_cast<T>(b))) {}

  [[gnu::always_inline]] void store(T* y, sum_of<T> sum) const {
    sum_of<T> result = alpha * sum;
    if (beta != 0) result += beta * static_cast<sum_of<T>>(*y);
    *y = static_cast<T>(result);
  }
};

}  // namespace tulle::cpu
