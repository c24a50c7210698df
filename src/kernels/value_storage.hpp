// How a converted copy of a matrix holds its values: in as few bytes as give back every bit of them, or as keep a promise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tulle {

enum class value_storage : std::uint8_t {
  whole,   // as they are
  f32,     // every value is a float
  bf16,    // every value is the upper half of a float
  listed,  // a byte each: the place in a list of the values that there are
  f16,     // every value is a half times a power of two that its row has
  words,   // the high and the low word of a value of 8 bytes, in an array each (value_words.hpp)
  high,    // of these the high ones alone
};

/// Of one value that takes `whole` bytes as it is; of words, in one of their arrays.
constexpr std::size_t bytes_of(value_storage s, std::size_t whole) {
  switch (s) {
    case value_storage::f32:
    case value_storage::words:
    case value_storage::high:
      return 4;
    case value_storage::f16:
    case value_storage::bf16:
      return 2;
    case value_storage::listed:
      return 1;
    default:
      return whole;
  }
}

/// Most values in a list.
inline constexpr int most_listed_values = 256;

constexpr std::string_view name(value_storage s) {
  switch (s) {
    case value_storage::f32:
      return "f32";
    case value_storage::f16:
      return "f16";
    case value_storage::bf16:
      return "bf16";
    case value_storage::listed:
      return "listed";
    case value_storage::words:
      return "words";
    case value_storage::high:
      return "high words";
    default:
      return "whole";
  }
}

}  // namespace tulle
