// How many lanes take a row of a CSR or of X for several right-hand sides (src/cuda/spmv/csr_many.cu, csr_pieces.cu),
// which what these are predicted to take needs to know too (src/plan/spmm_terms_cuda.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <tulle/core/types.hpp>

namespace tulle {

/// Columns at once: `across` lanes with `each` side by side, and `panels` of so many.
struct row_panels {
  int across;
  int each;
  std::int64_t panels;
};

/// Lanes side by side for so many columns: a power of two, at most a warp.
constexpr int lanes_across(index_t columns, index_t each_lane) {
  int across = 1;
  while (across < 32 && across * each_lane < columns) across *= 2;
  return across;
}

/// X by rows, 16 bytes a lane, up to a line of 128 bytes; by columns 8 of them a lane.
constexpr row_panels panels_for(index_t columns, bool by_row, int value_bytes) {
  constexpr int line = 8;
  const int each = by_row ? 16 / value_bytes : 8, across = by_row ? std::min(lanes_across(columns, each), line) : 1;
  return {across, each, (columns + across * each - 1) / (across * each)};
}

/// How csr.pieces takes X by rows as streams: 16 bytes of a row a lane, up to 512 side by side.
struct stream_groups {
  int of_warp;  // groups of lanes, each with a part of the warp's piece
  std::int64_t panels;

  static constexpr stream_groups of(index_t columns, int value_bytes) {
    const int each = 16 / value_bytes, across = lanes_across(columns, each);
    return {32 / across, (columns + across * each - 1) / (across * each)};
  }
  static constexpr stream_groups untold() { return {3, 1}; }  // for any number of columns
  /// Rows of X have 128 bytes or most of them; shorter ones are not taken as streams.
  [[nodiscard]] constexpr bool in_lines() const { return of_warp <= 4; }
};

/// lane = ((row) * along + (entry)) * across + (column), both powers of two.
struct row_lanes {
  static constexpr int most_of_lane = 64;  // entries: a block takes rows of more

  int across;
  int along;

  [[nodiscard]] constexpr int of_row() const { return across * along; }
  [[nodiscard]] constexpr std::int64_t longest_row() const { return std::int64_t{most_of_lane} * along; }
};

/// About 12 entries a lane; 2 where lanes are few, so that their reads are waited for at the same time.
constexpr row_lanes lanes_for(std::int64_t rows, std::int64_t nnz, int across, std::int64_t panels,
                              int multiprocessors) {
  constexpr int usual = 12, few = 2, enough = 256;  // entries; lanes of a multiprocessor
  row_lanes by{across, 1};
  while (by.of_row() < 32) {
    const bool few_lanes = rows * by.of_row() * panels <= std::int64_t{enough} * multiprocessors;
    if (nnz <= (few_lanes ? few : usual) * by.along * rows) break;
    by.along *= 2;
  }
  return by;
}

/// Rows that csr.pieces leaves whole however many columns there are, and so takes as csr.warp does: short ones, and
/// longer ones of one length, of a matrix that reads few lines of X.
struct short_rows {
  static constexpr index_t longest = 32, longest_alike = 128;
  static constexpr double most_skew = 4;                 // the longest over the mean
  static constexpr std::int64_t few_lines = 160 * 1024;  // of 128 bytes

  static constexpr bool has(index_t longest_row, double mean) {
    return longest_row > 0 &&
           (longest_row <= longest || (longest_row <= longest_alike && longest_row < most_skew * mean));
  }
  static constexpr std::int64_t lines(std::int64_t nnz, index_t columns, int value_bytes) {
    return nnz * panels_for(columns, true, value_bytes).panels;
  }
  static constexpr bool stay_whole(index_t longest_row, double mean, std::int64_t nnz, index_t columns,
                                   int value_bytes) {
    return has(longest_row, mean) && lines(nnz, columns, value_bytes) <= few_lines;
  }
};

}  // namespace tulle
