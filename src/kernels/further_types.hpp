// Numbers of the further types (c64, c128, i64, boolean) as kernels of both backends compute with them: structs of the
// same bytes as the public types, whose arithmetic is plain real or unsigned arithmetic, so that loops vectorise and no
// library call takes NaN apart.
//
// A complex product is (a.re b.re - a.im b.im, a.re b.im + a.im b.re), as in NumPy: where a part is not finite, so are
// the parts that it meets. Its real and imaginary sums over a row are inner products of twice as many real terms, which
// is what error bounds count (Higham, Accuracy and Stability of Numerical Algorithms, 2002, sections 3.1 and 3.6).
#pragma once

#include <complex>
#include <cstdint>
#include <tulle/core/types.hpp>
#include <utility>

#include "kernels/types.hpp"

namespace tulle::further {

template <class R>
struct complex_number {
  R re, im;

  static constexpr complex_number zero() { return {R{0}, R{0}}; }
  static constexpr complex_number one() { return {R{1}, R{0}}; }
};

/// i64: sums and products modulo 2^64.
struct wrapping {
  std::uint64_t bits;

  static constexpr wrapping zero() { return {0}; }
  static constexpr wrapping one() { return {1}; }
};

/// boolean: or, and. Any byte but 0 counts as true; 0 and 1 are written.
struct truth {
  std::uint8_t bit;

  static constexpr truth zero() { return {0}; }
  static constexpr truth one() { return {1}; }
};

/// sum + a b.
template <class R>
constexpr complex_number<R> multiply_add(complex_number<R> sum, complex_number<R> a, complex_number<R> b) {
  return {sum.re + a.re * b.re - a.im * b.im, sum.im + a.re * b.im + a.im * b.re};
}
constexpr wrapping multiply_add(wrapping sum, wrapping a, wrapping b) { return {sum.bits + a.bits * b.bits}; }
constexpr truth multiply_add(truth sum, truth a, truth b) {
  return {static_cast<std::uint8_t>((sum.bit != 0) | ((a.bit != 0) & (b.bit != 0)))};
}

template <class R>
constexpr complex_number<R> add(complex_number<R> a, complex_number<R> b) {
  return {a.re + b.re, a.im + b.im};
}
constexpr wrapping add(wrapping a, wrapping b) { return {a.bits + b.bits}; }
constexpr truth add(truth a, truth b) { return {static_cast<std::uint8_t>((a.bit != 0) | (b.bit != 0))}; }

/// A real factor times a number, part by part: 1 changes nothing, NaN and infinity included.
template <class R>
constexpr complex_number<R> scaled(double factor, complex_number<R> a) {
  return {static_cast<R>(factor) * a.re, static_cast<R>(factor) * a.im};
}
constexpr wrapping scaled(double factor, wrapping a) {
  return {static_cast<std::uint64_t>(static_cast<std::int64_t>(factor)) * a.bits};
}
constexpr truth scaled(double factor, truth a) { return {static_cast<std::uint8_t>((factor != 0) & (a.bit != 0))}; }

/// Its conjugate where `sign` is -1, itself where it is 1.
template <class R>
constexpr complex_number<R> conjugated(int sign, complex_number<R> a) {
  return {a.re, static_cast<R>(sign) * a.im};
}
constexpr wrapping conjugated(int, wrapping a) { return a; }
constexpr truth conjugated(int, truth a) { return a; }

template <class R>
constexpr bool is_zero(complex_number<R> a) {
  return a.re == 0 && a.im == 0;
}
constexpr bool is_zero(wrapping a) { return a.bits == 0; }
constexpr bool is_zero(truth a) { return a.bit == 0; }

/// Calls f.template operator()<N>() for the numbers of a further type.
template <class F>
decltype(auto) dispatch(scalar_type type, F&& f) {
  switch (type) {
    case scalar_type::c64: return f.template operator()<complex_number<float>>();
    case scalar_type::c128: return f.template operator()<complex_number<double>>();
    case scalar_type::i64: return f.template operator()<wrapping>();
    case scalar_type::boolean: return f.template operator()<truth>();
    default: refuse_type(type);
  }
}

/// Offsets of either width: the width is asked for once a row, so that no kernel is built twice.
struct row_offsets {
  const void* data = nullptr;
  bool wide = false;

  row_offsets() = default;
  row_offsets(const void* rowptr, offset_type type) : data(rowptr), wide(type == offset_type::i64) {}

  constexpr std::int64_t operator[](std::int64_t row) const {
    return wide ? static_cast<const std::int64_t*>(data)[row] : static_cast<const std::int32_t*>(data)[row];
  }
};

}  // namespace tulle::further
