// The sum of one row, and how it is written to y.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <tulle/core/types.hpp>
#include <type_traits>

namespace tulle::cpu {

/// What a sum is held in: the value type itself; unsigned for i32, whose sums are taken modulo 2^32.
template <scalar T>
using sum_of = std::conditional_t<std::same_as<T, std::int32_t>, std::uint32_t, T>;

/// Matrix bytes ahead of the loads to ask for: the hardware's prefetchers alone leave a third of the bandwidth unused
/// when two arrays stream past scattered reads of x.
inline constexpr std::size_t prefetch_bytes = 4096;

/// Asks for the values and indices that lie `ahead` elements further. They may lie past the end: nothing is read.
template <class V>
[[gnu::always_inline]] inline void prefetch_stream(const V* values, const index_t* colind,
                                                   std::size_t ahead = prefetch_bytes / sizeof(V)) {
  const auto address = [ahead](const auto* p) {
    return reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(p) + ahead * sizeof(*p));
  };
  __builtin_prefetch(address(values));
  __builtin_prefetch(address(colind));
}

/// Independent sums of a long row: enough to hide the latency of an addition, in vector registers of any width.
inline constexpr int row_lanes = 8;

/// sum of values[k] x[colind[k]] over k in [begin, end).
template <scalar T, scalar V, offset O>
[[gnu::always_inline]] inline sum_of<V> row_sum(const T* values, const index_t* colind, const V* x, O begin, O end) {
  sum_of<V> lane[row_lanes] = {};
  O k = begin;
  for (; end - k >= row_lanes; k += row_lanes) {
    prefetch_stream(values + k, colind + k);
#pragma omp simd
    for (int l = 0; l < row_lanes; ++l) {
      lane[l] += static_cast<sum_of<V>>(values[k + l]) * static_cast<sum_of<V>>(x[colind[k + l]]);
    }
  }
  prefetch_stream(values + k, colind + k);
  sum_of<V> sum = 0;
  for (; k < end; ++k) sum += static_cast<sum_of<V>>(values[k]) * static_cast<sum_of<V>>(x[colind[k]]);
#pragma omp simd reduction(+ : sum)
  for (int l = 0; l < row_lanes; ++l) sum += lane[l];
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

/// What becomes of an element of vector j before it is stored: many_finish of kernels/spmv.hpp.
template <scalar T>
struct many_act {
  const T* bias = nullptr;  // null: none
  bool relu = false;

  [[nodiscard]] bool acts() const { return bias != nullptr || relu; }
  /// Of the vectors from `first` on.
  [[nodiscard]] many_act from(index_t first) const { return {bias == nullptr ? nullptr : bias + first, relu}; }
  [[gnu::always_inline]] T operator()(T value, index_t j) const {
    if (bias != nullptr) value += bias[j];
    return relu && value < 0 ? T{0} : value;
  }
};

}  // namespace tulle::cpu
