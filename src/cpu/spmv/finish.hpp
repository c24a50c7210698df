// What becomes of the sum of a row: y = alpha sum + beta y, the same with dot products, or a step of Jacobi's method.
// Kernels take one as a template parameter, so that what is not used costs nothing. Row r is element order[r] of what is
// written where there is an order (spmv_operator::store_in_order); `put` says itself which element that is.
#pragma once

#include <type_traits>

#include "cpu/spmv/arithmetic.hpp"

namespace tulle::cpu {

/// y = alpha sum + beta y.
template <scalar T>
struct scaled {
  epilogue<T> out;
  T* y;
  const index_t* order = nullptr;

  [[gnu::always_inline]] void put(index_t /*row*/, index_t at, sum_of<T> sum) { out.store(y + at, sum); }
  [[gnu::always_inline]] void operator()(index_t row, sum_of<T> sum) {
    put(row, order == nullptr ? row : order[row], sum);
  }
};

/// What dot products are summed in: double for both floating types; integers modulo 2^32.
template <scalar T>
using dot_of = std::conditional_t<std::same_as<T, std::int32_t>, std::uint32_t, double>;

/// The sums of one thread, a cache line each.
template <scalar T>
struct alignas(64) dot_pair {
  dot_of<T> wy = 0;
  dot_of<T> yy = 0;

  dot_pair& operator+=(const dot_pair& other) {
    wy += other.wy;
    yy += other.yy;
    return *this;
  }
};

/// y = alpha sum + beta y, w . y and y . y. Row r adds to lane r mod 8, so that rows side by side are independent.
template <scalar T>
struct scaled_dots {
  static constexpr index_t lanes = 8;
  epilogue<T> out;
  T* y;
  const T* w;
  const index_t* order = nullptr;
  dot_of<T> wy[lanes] = {};
  dot_of<T> yy[lanes] = {};

  [[gnu::always_inline]] void put(index_t row, index_t at, sum_of<T> sum) {
    out.store(y + at, sum);
    const auto value = static_cast<dot_of<T>>(y[at]);
    wy[row % lanes] += static_cast<dot_of<T>>(w[at]) * value;
    yy[row % lanes] += value * value;
  }
  [[gnu::always_inline]] void operator()(index_t row, sum_of<T> sum) {
    put(row, order == nullptr ? row : order[row], sum);
  }
  [[nodiscard]] dot_pair<T> total() const {
    dot_pair<T> sum;
    for (index_t l = 0; l < lanes; ++l) sum += {wy[l], yy[l]};
    return sum;
  }
};

/// y = x + omega D^-1 (b - sum). x is in the order of the rows, whatever that of the others.
template <scalar T>
struct jacobi_step {
  sum_of<T> omega;
  const T* x;
  const T* b;
  const T* inverse_diagonal;
  T* y;
  const index_t* order = nullptr;

  [[gnu::always_inline]] void put(index_t row, index_t at, sum_of<T> sum) {
    const auto of = [](const T& v) { return static_cast<sum_of<T>>(v); };
    y[at] = static_cast<T>(of(x[row]) + omega * of(inverse_diagonal[at]) * (of(b[at]) - sum));
  }
  [[gnu::always_inline]] void operator()(index_t row, sum_of<T> sum) {
    put(row, order == nullptr ? row : order[row], sum);
  }
};

}  // namespace tulle::cpu
