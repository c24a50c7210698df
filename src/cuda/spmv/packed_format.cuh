// The storage of the packed kernels: slices of 32 or 64 lanes, columns as a base and short offsets.
//
// Rows are sorted by length within windows of 1024 and dealt out to slices: a slice has `height` lanes, 32 or 64 (packed_walk.cuh
// says how a warp shares them), and 1 to 32 lanes (a power of two, by length) share a row. Position p of a slice
// holds, for every lane, entry p * lanes + (the lane's number within its row) of its row; lanes whose row is at its end are
// passed over, so a slice stores exactly its entries. Rows longer than a limit are cut into parts, one a slice.
//
// The column of an entry is base[position] + origin(lane) + offset: `origin` is one of four numbers that each lane knows
// (0, its row, the first row of its block, its number within the row), chosen by slice so that the offsets are small:
// 0, 1, 2 or 4 bytes each. Stencils and dense runs take none.
#pragma once

#include <cstdint>
#include <tulle/core/types.hpp>

namespace tulle::cuda {

inline constexpr int packed_window = 1024;    // rows
inline constexpr int packed_base_group = 4;   // a slice's bases start at a multiple of this

enum class packed_origin : std::uint8_t { zero, row, block, lane };

struct packed_slice {
  std::int64_t values;     // its first entry
  std::uint32_t offsets;   // its first word (4 bytes) of column offsets
  std::uint32_t bases;     // its first group of bases
  index_t first_row;       // that its row numbers count from; of a part, its row
  std::uint32_t order;     // its first row in `order` and `length`; of a part, the part's number
  std::uint16_t full;      // positions at which every lane has an entry
  std::uint16_t width;     // positions in all
  std::uint8_t lanes_log2; // lanes a row; of a part, all
  std::uint8_t offset_bytes;
  packed_origin origin;
  std::uint8_t rows;       // 0: a part; bit 7: its rows follow one another from first_row
};
static_assert(sizeof(packed_slice) == 32);

inline constexpr std::uint8_t packed_contiguous = 0x80;

/// A row that was cut: its parts are parts[first] to parts[first + count).
struct packed_long_row {
  index_t row;
  std::uint32_t first;
  std::uint32_t count;
  std::uint32_t arrived;  // 0 between launches
};

/// Everything about the pattern.
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

/// What a lane has to do with a slice.
struct packed_lane {
  index_t row;     // meaningless when length is 0 and the slice has fewer rows
  int within;      // number among the lanes of its row
  int count;       // entries of the lane
  bool owns_row;   // finishes the row
};

#ifdef __CUDACC__
/// Lane `lane` of all of the slice's.
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
