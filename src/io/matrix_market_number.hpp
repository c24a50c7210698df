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
#include <string_view>
#include <system_error>
#include <tulle/core/types.hpp>
#include <type_traits>

namespace tulle::matrix_market {

/// The value of a digit; more than 9 for every other character.
constexpr unsigned digit_of(char c) { return static_cast<unsigned char>(c - '0'); }
constexpr bool is_digit(char c) { return digit_of(c) < 10; }
constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f'; }
constexpr bool is_line_end(char c) { return c == '\n' || c == '\r'; }

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
  while (*p == '0') ++p;
  const char* first = p;
  std::uint64_t number = 0;
  for (unsigned digit = digit_of(*p); digit < 10; digit = digit_of(*++p)) number = 10 * number + digit;
  if (p - first > 19 || number - 1 >= static_cast<std::uint64_t>(limit)) return nullptr;
  index = static_cast<index_t>(number - 1);
  return p;
}

/// What became of a number that needs the general conversion.
enum class conversion : std::uint8_t { done, malformed, too_large };

/// The word [p, stop) as a floating-point number, correctly rounded. Takes a leading plus, Fortran's D exponents, inf
/// and nan. A literal that rounds to infinity is too_large; one that underflows gives the subnormal or zero it rounds
/// to.
template <std::floating_point T>
conversion convert_real(const char* p, const char* stop, T& value);

/// The word as a decimal integer, with a leading plus or minus.
conversion convert_integer(std::string_view word, std::int64_t& value);

/// A floating-point number in any notation that convert_real takes. `end`: of the text, past its last line end.
template <std::floating_point T>
inline const char* read_real(const char* p, const char* end, T& value) {
  const auto [stop, code] = std::from_chars(p, end, value);
  if (code == std::errc() && std::isfinite(value) && (is_line_end(*stop) || is_blank(*stop))) return stop;
  const char* word_end = skip_word(p);
  return convert_real(p, word_end, value) == conversion::done ? word_end : nullptr;
}

/// A value of a `real` file as T. For integers it must be a whole number in range.
template <scalar T>
inline const char* read_real_as(const char* p, const char* end, T& value) {
  if constexpr (std::floating_point<T>) {
    return read_real(p, end, value);
  } else {
    double number = 0;
    p = read_real(p, end, number);
    constexpr double end_of_range = static_cast<double>(T{1} << (8 * sizeof(T) - 2)) * 2;  // 2^31 or 2^63
    if (p == nullptr || !(number >= -end_of_range && number < end_of_range) || number != std::trunc(number)) {
      return nullptr;
    }
    value = static_cast<T>(number);
    return p;
  }
}

/// A value of an `integer` file as T: an integer of 64 bits that T can hold (rounded when T is a floating-point type).
template <scalar T>
inline const char* read_integer_as(const char* p, const char* end, T& value) {
  if (*p == '+' && p[1] != '-') ++p;
  std::conditional_t<std::integral<T>, T, std::int64_t> number = 0;
  const auto [stop, code] = std::from_chars(p, end, number);
  value = static_cast<T>(number);
  return code == std::errc() ? stop : nullptr;
}

}  // namespace tulle::matrix_market
