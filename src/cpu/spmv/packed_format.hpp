// The storage of `packed`: slices of 32 neighbouring rows as runs of positions, values without padding.
//
// A position takes at most one entry of each of the slice's rows ("lanes"), those of its mask. Their columns are
// base + lane + offset: offsets of 8, 16 or 32 bits, or none where the position lies on one diagonal. The j-th entry of a
// row is in the j-th position whose mask has its lane, so values can be written from CSR knowing the masks alone.
//
// Words of 32 bits, in the order in which they are read:
//   run       header (kind, whether it is the slice's last, count of positions), then the positions
//   position  base; mask unless the run is of full diagonals; then the offsets of the mask's lanes, padded to a word
#pragma once

#include <cstdint>
#include <tulle/core/buffer.hpp>
#include <tulle/core/types.hpp>

namespace tulle::cpu {

inline constexpr index_t packed_lanes = 32;
inline constexpr std::uint32_t all_lanes = ~std::uint32_t{0};
/// Words past the end that a reader may load, though not use.
inline constexpr std::size_t packed_slack = 16;

enum class run_kind : std::uint32_t { full_diagonal, diagonal, offsets8, offsets16, offsets32 };

/// Bytes of a column offset.
constexpr std::uint32_t offset_bytes(run_kind kind) {
  return kind == run_kind::offsets8 ? 1 : kind == run_kind::offsets16 ? 2 : kind == run_kind::offsets32 ? 4 : 0;
}
/// Words that `count` offsets take.
constexpr std::uint32_t offset_words(run_kind kind, int count) {
  return (offset_bytes(kind) * static_cast<std::uint32_t>(count) + 3) / 4;
}

struct run_header {
  static constexpr std::uint32_t most = (std::uint32_t{1} << 28) - 1;  // positions in a run

  run_kind kind;
  bool last;
  std::uint32_t count;

  [[nodiscard]] constexpr std::uint32_t word() const {
    return static_cast<std::uint32_t>(kind) | (last ? 8u : 0u) | count << 4;
  }
  static constexpr run_header of(std::uint32_t word) {
    return {static_cast<run_kind>(word & 7), (word & 8) != 0, word >> 4};
  }
};

/// The narrowest kind whose offsets reach `range`.
constexpr run_kind kind_for(std::uint32_t range, std::uint32_t mask) {
  if (range == 0) return mask == all_lanes ? run_kind::full_diagonal : run_kind::diagonal;
  return range <= 0xff ? run_kind::offsets8 : range <= 0xffff ? run_kind::offsets16 : run_kind::offsets32;
}

/// The share of one thread, who also wrote it first.
template <scalar T>
struct packed_part {
  index_t first = 0;  // rows [first, last), first a multiple of 32
  index_t last = 0;
  buffer<std::uint32_t> words;
  buffer<T> values;
};

}  // namespace tulle::cpu
