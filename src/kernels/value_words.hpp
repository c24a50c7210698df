// A number of f64 as two words, of which the high one is the number rounded to nearest in 21 bits with f64's exponents.
//
// Not the number's own halves, but of the same sum: bits = high 2^32 + low, low signed. So the high word alone is off
// by 2^-21 of a normal number at most, and to either side, where the half of the bits would be off by 2^-20 to one side
// always. 0 and infinities are themselves.
#pragma once

#include <bit>
#include <cstdint>

namespace tulle {

struct value_words {
  std::uint32_t high;
  std::int32_t low;
};

/// A NaN stays one, in both words and in the high one alone, but for one bit of its payload, and becomes quiet. From
/// (2 - 2^-21) 2^1023 on the high word alone is infinite.
constexpr value_words words_of(double v) {
  auto bits = std::bit_cast<std::uint64_t>(v);
  if (v != v) bits = (bits | std::uint64_t{1} << 51) & ~(std::uint64_t{1} << 31);
  return {static_cast<std::uint32_t>((bits + (std::uint64_t{1} << 31)) >> 32),
          static_cast<std::int32_t>(static_cast<std::uint32_t>(bits))};
}
constexpr double from_words(value_words w) {
  return std::bit_cast<double>((std::uint64_t{w.high} << 32) + static_cast<std::uint64_t>(std::int64_t{w.low}));
}
constexpr double from_high(std::uint32_t high) { return std::bit_cast<double>(std::uint64_t{high} << 32); }

}  // namespace tulle
