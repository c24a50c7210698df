// Values of every type as structs of the same bytes, with the arithmetic of kernels/further_types.hpp: for loops that
// are written once for all types.
#pragma once

#include "kernels/further_types.hpp"

namespace tulle::further {

/// f32, f64.
template <class R>
struct real_number {
  R value;

  static constexpr real_number zero() { return {R{0}}; }
};

/// i32: sums and products modulo 2^32.
struct wrapping32 {
  std::uint32_t bits;

  static constexpr wrapping32 zero() { return {0}; }
};

template <class R>
constexpr real_number<R> multiply_add(real_number<R> sum, real_number<R> a, real_number<R> b) {
  return {sum.value + a.value * b.value};
}
constexpr wrapping32 multiply_add(wrapping32 sum, wrapping32 a, wrapping32 b) { return {sum.bits + a.bits * b.bits}; }

template <class R>
constexpr real_number<R> add(real_number<R> a, real_number<R> b) {
  return {a.value + b.value};
}
constexpr wrapping32 add(wrapping32 a, wrapping32 b) { return {a.bits + b.bits}; }

template <class R>
constexpr bool is_zero(real_number<R> a) {
  return a.value == 0;
}
constexpr bool is_zero(wrapping32 a) { return a.bits == 0; }

/// Calls f.template operator()<N>() for the numbers of a type.
template <class F>
decltype(auto) dispatch_numbers(scalar_type type, F&& f) {
  switch (type) {
    case scalar_type::f32:
      return f.template operator()<real_number<float>>();
    case scalar_type::f64:
      return f.template operator()<real_number<double>>();
    case scalar_type::i32:
      return f.template operator()<wrapping32>();
    default:
      return dispatch(type, std::forward<F>(f));
  }
}

}  // namespace tulle::further
