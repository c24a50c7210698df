// The storage of the packed kernels: slices of 32 or 64 lanes, columns as a base and short offsets.
//
// Rows are sorted by length within windows of 1024 and distributed to slices of `height` (32 or 64) lanes; 1 to 32
// lanes, a power of two that depends on the length, share a row. packed_walk.cuh says how a warp divides a slice.
// Position p of a slice holds entry p * lanes + (number of the lane within its row) of every lane's row; lanes whose
// row has ended are left out, so a slice stores exactly its entries. Rows longer than a limit are cut into parts, one
// per slice.
//
// The column of an entry is base[position] + origin(lane) + offset. `origin` is one of four numbers that a lane knows
// (0, its row, the first row of its block, its number within the row), chosen per slice so that offsets take 0, 1, 2 or
// 4 bytes. Stencils and dense runs take 0.
#pragma once

#include <cstdint>
#include <tulle/core/types.hpp>

#include "kernels/value_bound.hpp"

namespace tulle::cuda {

inline constexpr int packed_window = 1024;    // rows
inline constexpr int packed_base_group = 4;   // a slice's bases start at a multiple of this

enum class packed_origin : std::uint8_t { zero, row, block, lane };

struct packed_slice {
  std::int64_t values;     // its first entry; where slices differ in form, how many of its own size lie before;
                           // where slices share values, the first of those
  std::uint32_t offsets;   // its first word (4 bytes) of column offsets
  std::uint32_t bases;     // its first group of bases
  index_t first_row;       // to which its row numbers are relative; of a part, its row
  std::uint32_t order;     // its first row in `order` and `length`; of a part, the part's number
  std::uint16_t full;      // positions where every lane has an entry
  std::uint16_t width;     // positions in all
  std::uint8_t lanes_log2 : 3;  // lanes per row; of a part, all
  row_form form : 5;            // of its values, where slices differ in it
  std::uint8_t offset_bytes;
  packed_origin origin : 4;
  std::uint8_t alike : 4;  // each position has one value for all lanes, stored once
  std::uint8_t rows;  // 0: a part; bit 7: its rows are consecutive from first_row
};
static_assert(sizeof(packed_slice) == 32 && row_form_bits == 5);

inline constexpr std::uint8_t packed_contiguous = 0x80;

/// A row that was cut: its parts are parts[first] to parts[first + count).
struct packed_long_row {
  index_t row;
  std::uint32_t first;
  std::uint32_t count;
  std::uint32_t arrived;  // 0 between launches
};

/// The pattern on the device.
struct packed_pattern {
  std::int64_t slices;
  const packed_slice* slice;
  const index_t* base;
  const std::uint32_t* offsets;
  const std::uint16_t* order;   // row of the window, by decreasing length
  const std::uint16_t* length;  // of that row, at most 65535
  const std::uint32_t* part_row;  // of every part, which long row
  const std::uint16_t* part_length;
  packed_long_row* long_row;
  index_t block;                // rows of a block (origin)
};

/// A lane's part of a slice.
struct packed_lane {
  index_t row;     // undefined if the slice has no row for the lane
  int within;      // number among the lanes of its row
  int count;       // entries of the lane
  bool owns_row;   // the first lane of its row
};

#ifdef __CUDACC__
/// Lane `lane` of the slice.
__device__ __forceinline__ packed_lane lane_of(const packed_pattern& a, const packed_slice& s, int lane) {
  const int lanes = 1 << s.lanes_log2;
  packed_lane out{s.first_row, lane & (lanes - 1), s.full, false};
  if (s.rows == 0) {
    const int length = a.part_length[s.order];
    out.count = (length - lane + lanes - 1) >> s.lanes_log2;
    return out;
  }
  const int of_slice = lane >> s.lanes_log2;
  const bool exists = of_slice < (s.rows & ~packed_contiguous);
  const std::uint32_t at = s.order + (exists ? of_slice : 0);
  out.row += (s.rows & packed_contiguous) != 0 ? of_slice : a.order[at];
  if (s.full != s.width) {
    const int rest = exists ? a.length[at] - out.within : 0;
    out.count = (rest + lanes - 1) >> s.lanes_log2;
  }
  out.owns_row = exists && out.within == 0;
  return out;
}

__device__ __forceinline__ index_t origin_of(packed_origin origin, const packed_lane& lane, index_t block) {
  switch (origin) {
    case packed_origin::row: return lane.row;
    case packed_origin::block: return lane.row - lane.row % block;
    case packed_origin::lane: return lane.within;
    default: return 0;
  }
}
#endif

}  // namespace tulle::cuda
