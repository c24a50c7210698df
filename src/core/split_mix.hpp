// The finaliser of SplitMix64, for numbers from counters and for hashes.
#pragma once

#include <cstdint>

namespace tulle {

/// Steele, Lea, Flood, OOPSLA 2014.
constexpr std::uint64_t split_mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace tulle
