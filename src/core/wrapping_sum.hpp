// Addition that is defined for every operand.
#pragma once

#include <concepts>
#include <cstdint>
#include <tulle/core/types.hpp>

namespace tulle {

/// a + b; modulo 2^32 for integers.
template <scalar T>
constexpr T wrapping_sum(T a, T b) {
  if constexpr (std::integral<T>) {
    return static_cast<T>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
  } else {
    return a + b;
  }
}

}  // namespace tulle
