// Numbers from counters: the same for any number of threads and on every machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tulle/core/types.hpp>

#include "core/split_mix.hpp"

namespace tulle::generators_detail {

inline constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;

/// A key for item `item` of the family of streams that `family` names.
constexpr std::uint64_t key_of(std::uint64_t family, std::uint64_t item) { return split_mix(family + golden * (item + 1)); }

/// SplitMix64.
class random_stream {
 public:
  constexpr explicit random_stream(std::uint64_t key) : state_(key) {}
  constexpr std::uint64_t next() { return split_mix(state_ += golden); }
  /// Uniform in 0 .. n - 1, n < 2^32.
  constexpr std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>((next() >> 32) * static_cast<std::uint64_t>(n) >> 32);
  }

 private:
  std::uint64_t state_;
};

/// `count` distinct numbers of low .. low + range - 1 in ascending order, every subset as likely; count <= range.
inline void sample_distinct(random_stream& random, index_t low, std::int64_t range, std::int64_t count, index_t* out) {
  if (2 * count > range) {  // selection sampling (Knuth, TAOCP vol. 2, 3.4.2, algorithm S)
    for (std::int64_t i = 0; count > 0; ++i) {
      if (random.below(range - i) >= count) continue;
      *out++ = static_cast<index_t>(low + i);
      --count;
    }
    return;
  }
  index_t* const last = out + count;
  for (index_t* end = out; end != last;) {  // draw what is missing, drop what repeats
    for (; end != last; ++end) *end = static_cast<index_t>(low + random.below(range));
    std::sort(out, end);
    end = std::unique(out, end);
  }
}

}  // namespace tulle::generators_detail
