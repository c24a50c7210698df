// The storage of `packed`: slices of 32 rows as runs of positions, values without padding and, where that loses
// nothing, in fewer bytes than they are used in.
//
// A position takes at most one entry of each of the slice's rows ("lanes"), those of its mask. Their columns are
// base + lane + offset: offsets of 8, 16 or 32 bits, or none where the position lies on one diagonal. The j-th entry of
// a row is in the j-th position whose mask has its lane, so values can be written from CSR knowing the masks alone.
//
// Words of 32 bits, in the order in which they are read:
//   slice     its runs; after the first header, which also tells the form of its values where slices differ in it, 32
//   row
//             numbers if the rows are not in order, or long ones are among them
//   run       header, then its positions
//   position  base; mask unless the run's positions are full; then an offset a lane, or, of 32 bits, one for each of
//   the
//             mask's lanes
// Values follow each other in the order of the positions and, within one, of the lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tulle/core/types.hpp>

#include "kernels/value_bound.hpp"

namespace tulle::cpu {

inline constexpr index_t packed_lanes = 32;
inline constexpr std::uint32_t all_lanes = ~std::uint32_t{0};
/// The values of a slice start in a slot whose number is a multiple of this, of what is used in numbers of `value_bytes`:
/// a load of full positions takes so many, and does not straddle two cache lines.
constexpr std::int64_t slots_at_once(std::size_t value_bytes) { return static_cast<std::int64_t>(64 / value_bytes); }
constexpr std::int64_t aligned_slots(std::int64_t slots, std::size_t value_bytes) {
  const std::int64_t multiple = slots_at_once(value_bytes);
  return (slots + multiple - 1) / multiple * multiple;
}
/// p, or the next address that is a multiple of `bytes`, a power of 2.
template <class S>
[[gnu::always_inline]] inline S* aligned_address(S* p, std::size_t bytes) {
  return reinterpret_cast<S*>((reinterpret_cast<std::uintptr_t>(p) + bytes - 1) & ~(bytes - 1));
}
/// The same where slices have forms of their own.
inline constexpr std::size_t slice_alignment = 64;
/// Of a row number: the row is long and not stored here (longest_packed_row).
inline constexpr std::uint32_t long_row_flag = std::uint32_t{1} << 31;
/// Words past the end that a reader may load, though not use.
inline constexpr std::size_t packed_slack = 16;
/// The same of values, in bytes.
inline constexpr std::size_t packed_value_slack = 64;

/// Bytes of an offset: none, 1, 2 or 4; and whether all lanes have an entry.
enum class run_kind : std::uint32_t { diagonal, offsets8, offsets16, offsets32, full_diagonal, full8, full16, full32 };

constexpr bool is_full(run_kind kind) { return kind >= run_kind::full_diagonal; }
constexpr std::uint32_t offset_bytes(run_kind kind) { return 1u << (static_cast<std::uint32_t>(kind) & 3) >> 1; }
/// Offsets of 8 and 16 bits are cheaper to read where every lane has its own; wider ones would cost too many bytes.
constexpr bool offsets_are_padded(std::size_t bytes) { return bytes < 4; }
/// Words of the offsets of a position with `count` entries.
constexpr std::uint32_t offset_words(run_kind kind, int count) {
  const std::uint32_t bytes = offset_bytes(kind);
  const std::uint32_t stored = offsets_are_padded(bytes) ? packed_lanes : static_cast<std::uint32_t>(count);
  return bytes * stored / 4;
}
/// Words of a position with `count` entries.
constexpr std::uint32_t position_words(run_kind kind, int count) {
  return (is_full(kind) ? 1 : 2) + offset_words(kind, count);
}
/// The narrowest kind whose offsets reach `range`.
constexpr run_kind kind_for(std::uint32_t range, std::uint32_t mask) {
  const std::uint32_t width = range == 0 ? 0 : range <= 0xff ? 1 : range <= 0xffff ? 2 : 3;
  return static_cast<run_kind>(width + (mask == all_lanes ? 4 : 0));
}

struct run_header {
  static constexpr std::uint32_t most = (std::uint32_t{1} << 22) - 1;  // positions in a run

  run_kind kind = run_kind::full_diagonal;
  bool last = false;      // of its slice
  bool permuted = false;  // row numbers follow
  std::uint32_t count = 0;
  row_form form = whole_form;  // of the slice's values, in its first header

  [[nodiscard]] constexpr std::uint32_t word() const {
    return static_cast<std::uint32_t>(kind) | (last ? 8u : 0u) | (permuted ? 16u : 0u) |
           static_cast<std::uint32_t>(form) << 5 | count << (5 + row_form_bits);
  }
  static constexpr run_header of(std::uint32_t word) {
    return {static_cast<run_kind>(word & 7), (word & 8) != 0, (word & 16) != 0, word >> (5 + row_form_bits),
            static_cast<row_form>(word >> 5 & ((1u << row_form_bits) - 1))};
  }
};

/// The share of one thread, who also wrote it first: slices of the rows [first, last), in arrays that all parts share.
struct packed_part {
  index_t first = 0;
  index_t last = 0;
  std::uint32_t* words = nullptr;
  std::int64_t slot = 0;  // of its first value; where slices differ in form, how many times 64 bytes lie before
};

/// The sum of a long row.
template <scalar V>
struct long_row {
  index_t row;
  V sum;
};

/// Values of a list that two vectors of 64 bytes hold: they are looked up without reading memory.
template <scalar V>
inline constexpr int few_values = 128 / sizeof(V);

/// How values are loaded: the storages of packed_values, and lists that are looked up in registers.
enum class slot_kind : std::uint8_t { whole, f32, f16, bf16, listed, few, words, high };

/// Values to be used as numbers of V.
template <scalar V>
struct packed_values {
  value_storage storage = value_storage::whole;  // whole: as a V
  const std::byte* data = nullptr;               // of slot 0, on a cache line
  const V* list = nullptr;                       // room for few_values at least
  int listed = 0;
  bool by_slice = false;  // each slice has a form of its own
  std::ptrdiff_t low = 0;  // of words: bytes from a high one to its low one
  bool x_by_loads = false;  // number by number, not by gathers of 512 bits
  bool ahead = true;        // asked for before it is read; without, with AVX-512 where values are stored whole

  [[nodiscard]] std::size_t slot_bytes() const { return bytes_of(storage, sizeof(V)); }
  /// What the values of a slice are aligned to.
  [[nodiscard]] std::size_t alignment() const {
    return by_slice ? slice_alignment : static_cast<std::size_t>(slots_at_once(sizeof(V))) * slot_bytes();
  }
  [[nodiscard]] const std::byte* of(const packed_part& part) const {
    return data + part.slot * static_cast<std::int64_t>(by_slice ? slice_alignment : slot_bytes());
  }
};

}  // namespace tulle::cpu
