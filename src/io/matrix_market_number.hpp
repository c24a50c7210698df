// Numbers of a Matrix Market line, read where they stand.
//
// Every reader starts at `p`, which lies in a range whose last character is a line end, so that scanning needs no test
// against the end of the range. It returns the first character after the number, or null when there is no number or it
// does not fit; matrix_market_diagnose.cpp then finds the words for it.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <tulle/core/types.hpp>

namespace tulle::matrix_market {

constexpr bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }
constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f'; }
constexpr bool is_line_end(char c) { return c == '\n' || c == '\r'; }
constexpr bool is_exponent(char c) { return (c | 0x20) == 'e' || (c | 0x20) == 'd'; }

inline const char* skip_blanks(const char* p) {
  while (is_blank(*p)) ++p;
  return p;
}
inline const char* skip_to_line_end(const char* p) {
  while (!is_line_end(*p)) ++p;
  return p;
}
inline const char* skip_word(const char* p) {
  while (!is_blank(*p) && !is_line_end(*p)) ++p;
  return p;
}

/// A 1-based index of 1 .. `limit`, returned 0-based.
inline const char* read_index(const char* p, index_t limit, index_t& index) {
  if (*p == '+') ++p;
  const char* first = p;
  std::uint64_t number = 0;
  for (; is_digit(*p); ++p) number = 10 * number + static_cast<std::uint64_t>(*p - '0');
  if (p - first > 19 || number - 1 >= static_cast<std::uint64_t>(limit)) return nullptr;
  index = static_cast<index_t>(number - 1);
  return p;
}

/// A decimal integer that fits 64 bits.
inline const char* read_integer(const char* p, std::int64_t& value) {
  const bool negative = *p == '-';
  if (*p == '-' || *p == '+') ++p;
  const char* first = p;
  std::uint64_t number = 0;
  for (; is_digit(*p); ++p) number = 10 * number + static_cast<std::uint64_t>(*p - '0');
  const auto limit = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) + (negative ? 1 : 0);
  if (p == first || p - first > 19 || number > limit) return nullptr;
  value = static_cast<std::int64_t>(negative ? 0 - number : number);
  return p;
}

/// What became of a number that needs the general conversion.
enum class conversion : std::uint8_t { done, malformed, too_large };

/// The word [p, stop) as a floating-point number, correctly rounded. Takes a leading plus, Fortran's D exponents, inf
/// and nan. A literal that rounds to infinity is too_large; one that underflows gives the subnormal or zero it rounds to.
template <std::floating_point T>
conversion convert_real(const char* p, const char* stop, T& value);

/// Clinger's fast path ("How to read floating point numbers accurately", PLDI 1990): digits and power of ten that are
/// both exact in T give a correctly rounded product. Everything else is left to convert_real.
template <std::floating_point T>
inline const char* read_real(const char* p, T& value) {
  constexpr int max_power = std::same_as<T, double> ? 22 : 10;
  constexpr std::uint64_t max_digits = std::uint64_t{1} << std::numeric_limits<T>::digits;
  static constexpr double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                      1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const char* start = p;
  const bool negative = *p == '-';
  if (*p == '-' || *p == '+') ++p;
  const char* first = p;
  std::uint64_t digits = 0;
  for (; is_digit(*p); ++p) digits = 10 * digits + static_cast<std::uint64_t>(*p - '0');
  std::ptrdiff_t count = p - first;
  std::ptrdiff_t power = 0;
  if (*p == '.') {
    const char* fraction = ++p;
    for (; is_digit(*p); ++p) digits = 10 * digits + static_cast<std::uint64_t>(*p - '0');
    power = fraction - p;
    count -= power;
  }
  if (is_exponent(*p)) {
    ++p;
    const bool down = *p == '-';
    if (*p == '-' || *p == '+') ++p;
    const char* exponent = p;
    int number = 0;
    for (; is_digit(*p) && p - exponent < 5; ++p) number = 10 * number + (*p - '0');
    if (p == exponent) count = 0;
    power += down ? -number : number;
  }
  if (count > 0 && count <= 19 && digits <= max_digits && power >= -max_power && power <= max_power) {
    const T magnitude = static_cast<T>(digits);
    const T scale = static_cast<T>(powers[power < 0 ? -power : power]);
    const T result = power < 0 ? magnitude / scale : magnitude * scale;
    value = negative ? -result : result;
    return p;
  }
  p = skip_word(start);
  return convert_real(start, p, value) == conversion::done ? p : nullptr;
}

/// A value of a `real` file as T. For i32 it must be a whole number in range.
template <scalar T>
inline const char* read_real_as(const char* p, T& value) {
  if constexpr (std::floating_point<T>) {
    return read_real(p, value);
  } else {
    double number = 0;
    p = read_real(p, number);
    if (p == nullptr || !(number >= -2147483648.0 && number <= 2147483647.0) || number != std::trunc(number)) {
      return nullptr;
    }
    value = static_cast<T>(number);
    return p;
  }
}

/// A value of an `integer` file as T: an integer of 64 bits that T can hold (rounded when T is a floating-point type).
template <scalar T>
inline const char* read_integer_as(const char* p, T& value) {
  std::int64_t number = 0;
  p = read_integer(p, number);
  if constexpr (std::integral<T>) {
    if (p == nullptr || number < std::numeric_limits<T>::min() || number > std::numeric_limits<T>::max()) return nullptr;
  }
  value = static_cast<T>(number);
  return p;
}

}  // namespace tulle::matrix_market
