// Numbers of a Matrix Market line, read where they stand.
//
// Every reader starts at `p`, which lies in a range whose last character is a line end and behind which 8 more bytes
// may be read, so that scanning needs no test against the end of the range. It returns the first character after the
// number, or null when there is no number or it does not fit; matrix_market_diagnose.cpp then finds the words for it.
#pragma once

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string_view>
#include <tulle/core/types.hpp>
#include <type_traits>

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

__extension__ using uint128 = unsigned __int128;

inline constexpr std::array<double, 23> powers_of_ten{1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                      1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                      1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
inline constexpr std::array<std::uint64_t, 28> powers_of_five = [] {
  std::array<std::uint64_t, 28> powers{1};
  for (std::size_t k = 1; k < powers.size(); ++k) powers[k] = 5 * powers[k - 1];
  return powers;
}();

/// What became of a number that needs the general conversion.
enum class conversion : std::uint8_t { done, malformed, too_large };

/// The word [p, stop) as a floating-point number, correctly rounded. Takes a leading plus, Fortran's D exponents, inf
/// and nan. A literal that rounds to infinity is too_large; one that underflows gives the subnormal or zero it rounds
/// to.
template <std::floating_point T>
conversion convert_real(const char* p, const char* stop, T& value);

/// The word as a decimal integer, with a leading plus or minus.
conversion convert_integer(std::string_view word, std::int64_t& value);

/// Eight digits at p as a number, most significant first; false when the eight characters are not all digits.
inline bool read_eight_digits(const char* p, std::uint64_t& number) {
  if constexpr (std::endian::native != std::endian::little) return false;
  std::uint64_t text;
  std::memcpy(&text, p, sizeof text);
  const std::uint64_t digits = text - 0x3030303030303030;
  if ((((text + 0x4646464646464646) | digits) & 0x8080808080808080) != 0) return false;
  // Neighbours are joined: 8 numbers of 1 digit, 4 of 2, 2 of 4, 1 of 8.
  number = (digits * 10 + (digits >> 8)) & 0x00FF00FF00FF00FF;
  number = (number * 100 + (number >> 16)) & 0x0000FFFF0000FFFF;
  number = (number * 10000 + (number >> 32)) & 0xFFFFFFFF;
  return true;
}

/// Appends the digits from p on to `number`, modulo 2^64; returns where they end.
inline const char* append_digits(const char* p, std::uint64_t& number) {
  for (std::uint64_t eight = 0; read_eight_digits(p, eight); p += 8) number = 100000000 * number + eight;
  for (; is_digit(*p); ++p) number = 10 * number + static_cast<std::uint64_t>(*p - '0');
  return p;
}

/// number * 2^exponent (plus something smaller than the last bit where `inexact`), rounded to nearest even. The number
/// has at least 62 bits, so that an odd last bit can stand for what is lost below it.
template <std::floating_point T>
inline T round(std::uint64_t number, bool inexact, int exponent) {
  const auto sticky = static_cast<std::int64_t>((number >> 1) | (number & 1) | (inexact ? 1 : 0));
  const auto power = std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent + 1) << 52);
  return static_cast<T>(static_cast<double>(static_cast<T>(sticky)) * power);
}

/// Powers of ten up to which no number of 19 digits overflows or becomes subnormal, and 5^power fits 64 bits.
template <std::floating_point T>
inline constexpr int moderate_power = std::same_as<T, double> ? 27 : 19;

/// digits * 10^power, correctly rounded, for digits < 10^19 and moderate powers. Small numbers by Clinger's
/// fast path ("How to read floating point numbers accurately", PLDI 1990): both factors are exact in T, so that one
/// product or quotient rounds rightly. The rest in 128-bit integers, rounded once.
template <std::floating_point T>
inline T scale_by_ten(std::uint64_t digits, int power) {
  constexpr int exact_power = std::same_as<T, double> ? 22 : 10;
  if (digits <= std::uint64_t{1} << std::numeric_limits<T>::digits && power >= -exact_power && power <= exact_power) {
    const auto scale = static_cast<T>(powers_of_ten[static_cast<std::size_t>(std::abs(power))]);
    return power < 0 ? static_cast<T>(digits) / scale : static_cast<T>(digits) * scale;
  }
  if (digits == 0) return 0;
  const int shift = std::countl_zero(digits);
  digits <<= shift;
  const std::uint64_t five = powers_of_five[static_cast<std::size_t>(std::abs(power))];
  if (power >= 0) {
    const uint128 product = uint128{digits} * five;
    const int zeros = std::countl_zero(static_cast<std::uint64_t>(product >> 64));
    const uint128 aligned = zeros == 64 ? product << 64 : product << zeros;
    return round<T>(static_cast<std::uint64_t>(aligned >> 64), static_cast<std::uint64_t>(aligned) != 0,
                    64 - zeros + power - shift);
  }
  const int align = std::countl_zero(five);
  const std::uint64_t divisor = five << align;
  const uint128 dividend = uint128{digits} << 63;  // its high half is below the divisor: the quotient has 63 or 64 bits
  const auto quotient = static_cast<std::uint64_t>(dividend / divisor);
  return round<T>(quotient, uint128{quotient} * divisor != dividend, align - 63 + power - shift);
}

/// Numbers of up to 19 digits and a moderate exponent; everything else is left to convert_real.
template <std::floating_point T>
inline const char* read_real(const char* p, T& value) {
  const char* start = p;
  const bool negative = *p == '-';
  if (*p == '-' || *p == '+') ++p;
  const char* first = p;
  std::uint64_t digits = 0;
  p = append_digits(p, digits);
  std::ptrdiff_t count = p - first;
  std::ptrdiff_t power = 0;
  if (*p == '.') {
    const char* fraction = ++p;
    p = append_digits(p, digits);
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
  if (count > 0 && count <= 19 && power >= -moderate_power<T> && power <= moderate_power<T>) {
    const T magnitude = scale_by_ten<T>(digits, static_cast<int>(power));
    value = negative ? -magnitude : magnitude;
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
    if (p == nullptr || number < std::numeric_limits<T>::min() || number > std::numeric_limits<T>::max())
      return nullptr;
  }
  value = static_cast<T>(number);
  return p;
}

}  // namespace tulle::matrix_market
