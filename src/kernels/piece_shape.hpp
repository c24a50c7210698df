// How csr.pieces divides rows into pieces for warps (src/cuda/spmv/csr_pieces.cu), which what it is predicted to take
// needs to know too (src/plan/spmm_terms_cuda.hpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tulle/formats/stats.hpp>

namespace tulle {

/// What a row costs beside its entries.
inline constexpr int row_work = 2;

struct piece_shape {
  int work = 256;          // of a piece, entries and row_work a row together
  int per_slot = 1;        // pieces: rows of at most work * per_slot entries are never cut
  bool by_column = false;  // pieces are taken in the order of their first columns

  /// `whole`: entries of a row that is not to be cut, at least.
  static piece_shape of(std::int64_t work, std::int64_t whole, bool by_column = false) {
    return {static_cast<int>(work), static_cast<int>((std::max(whole, work) + work - 1) / work), by_column};
  }
  [[nodiscard]] std::int64_t longest_whole() const { return std::int64_t{work} * per_slot; }
};

/// What the work of all rows comes to.
struct piece_share {
  static constexpr std::int64_t per_processor = 128;  // groups of lanes, about as many as are there at once
  static constexpr std::int64_t short_row = 128, longest_whole = 4096;

  std::int64_t row;  // a row of usual length
  double of_group;   // what each group of lanes would get

  piece_share(const csr_stats& s, int multiprocessors) {
    const std::int64_t total = s.nnz + row_work * std::int64_t{s.rows};
    row = total / std::max<std::int64_t>(s.rows, 1);
    of_group = static_cast<double>(total) / static_cast<double>(std::max(multiprocessors, 1) * per_processor);
  }
  [[nodiscard]] std::int64_t fair() const { return static_cast<std::int64_t>(of_group); }
  /// Rows of usual length need not be cut for every group to have something to do.
  [[nodiscard]] bool keeps_rows() const { return row <= std::max(fair(), short_row); }
};

/// Where each of `groups` groups of lanes of a warp takes its part of a piece as a stream, for `panels` panels of
/// columns. About 64 entries: in small matrices fewer, so that there are enough groups, in large ones more, so that
/// fewer rows are cut, but not where rows are short and alike, as neighbours then read the same rows of X at the same
/// time (H200, 27 points, f32, 128 columns: 4604 us with 64 entries, 5799 with 192). Where all pieces fit the device at
/// once or twice there are just as many as do: one more keeps all waiting (a mesh of 1.1 million entries, f32, 32
/// columns: 26 us with 64 entries, 23 with 93). A row of up to 64 entries is not cut, nor one of usual length, nor one
/// half as long again. Work is at most that of the longest row that is not cut: pieces of different work keep the lanes
/// of a warp waiting.
/// Rows of four pieces and more are cut into short ones, which are taken by column: what runs at the same time then
/// reads the same part of X in many rows, out of L1 or at least out of L2 (H200, f64, 32 columns: 20k x 2M with 1500 a
/// row 1590 us one after another, 1012 by column, 5000 x 5000 dense 701 and 459). A group of lanes alone gets 96
/// entries, so that there is room for the sums of parts.
inline piece_shape shape_of_streams(const csr_stats& s, int multiprocessors, int groups, std::int64_t panels) {
  constexpr double usual = 64, least = 4, most = 192, alike = 4;  // alike: skew
  constexpr std::int64_t never_cut = 64, pieces_of_long_row = 4;
  constexpr std::int64_t room_for_parts = 85;  // as much as the matrix, with 128 columns of f64
  const piece_share share(s, multiprocessors);
  const std::int64_t by_column = groups == 1 ? 96 : 64 * std::int64_t{groups};
  if (share.of_group >= usual && share.row >= pieces_of_long_row * by_column) {
    return piece_shape::of(by_column, never_cut, true);
  }
  const double by = share.of_group >= usual || groups == 1 ? 0.2 : 0.5;
  double of_group = std::clamp(usual * std::pow(share.of_group / usual, by), least, most);
  if (s.skew >= alike && groups == 1) of_group = std::min(2 * of_group, most);
  if (s.skew < alike && share.row <= piece_share::short_row) {
    const bool is_long = groups > 1 && share.row >= never_cut;
    of_group = std::min(of_group, is_long ? 1.5 * usual : usual);
  }
  constexpr double warps = 24, longest = 128;  // of a multiprocessor at once; of a group
  const double of_wave = share.of_group * piece_share::per_processor * static_cast<double>(panels) / (warps * groups);
  if (of_wave <= longest) {
    of_group = std::max(of_group, of_wave);
  } else if (of_wave <= 2 * longest) {
    of_group = of_wave / 2;
  }
  const std::int64_t work = static_cast<std::int64_t>(std::ceil(of_group)) * groups;
  if (!share.keeps_rows()) {
    const std::int64_t least_whole = groups == 1 ? room_for_parts : never_cut;
    return piece_shape::of(work, std::clamp(share.fair(), least_whole, piece_share::longest_whole));
  }
  const std::int64_t usual_row = share.row + share.row / 2;
  const std::int64_t whole = s.max > 0 ? std::min<std::int64_t>(s.max + row_work, usual_row) : usual_row;
  return piece_shape::of(std::max(work, whole), never_cut);
}

/// Where lanes take rows side by side: work for all of them, and rows cut where one would end last alone. Where rows of
/// usual length are no longer than a group's share none of them is cut, and a piece has at least one: half of the warps
/// would have nothing to do.
inline piece_shape shape_of_lanes(const csr_stats& s, int multiprocessors) {
  constexpr std::int64_t least = 128, most = 512, least_whole = 64;
  const piece_share share(s, multiprocessors);
  const std::int64_t work = std::clamp(share.fair(), least, most);
  if (share.keeps_rows()) return piece_shape::of(std::max(work, share.row), std::max(least_whole, 2 * share.row));
  return piece_shape::of(work, std::clamp(share.fair(), least_whole, piece_share::longest_whole));
}

}  // namespace tulle
