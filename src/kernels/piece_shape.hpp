// How csr.pieces divides rows into pieces for warps (src/cuda/spmv/csr_pieces.cu), which what it is predicted to take
// needs to know too (src/plan/spmm_terms_cuda.hpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tulle/formats/stats.hpp>

#include "kernels/row_lanes.hpp"

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
  static constexpr int stream_warps = 24;             // of a multiprocessor, all that take streams at once
  static constexpr std::int64_t per_processor = 128;  // groups of lanes, about as many as are there at once
  static constexpr std::int64_t short_row = 128, longest_whole = 4096, never_cut = 64, pieces_of_long_row = 4;
  static constexpr int stream = 64;  // entries of a group, usually

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

/// Entries that each group of lanes takes one after another. About 64: in small matrices fewer, so that there are
/// enough groups, in large ones more, so that fewer rows are cut, but not where rows are short and alike (up to 96
/// where they have 64 and groups are several), as neighbours then read the same rows of X at the same time (H200, 27
/// points, f32, 128 columns: 4604 us with 64 entries, 5799 with 192). Where all pieces fit the device at once or twice,
/// so many that they do just so: one more keeps all waiting (a mesh of 1.1 million entries, f32, 32 columns: 26 us with
/// 64 entries, 23 with 93).
inline double stream_length(const csr_stats& s, const piece_share& share, const stream_groups& groups) {
  constexpr double usual = piece_share::stream, least = 4, most = 192, alike = 4, longest_of_wave = 128;  // alike: skew
  const double of_wave = share.of_group * piece_share::per_processor * static_cast<double>(groups.panels) /
                         (piece_share::stream_warps * groups.of_warp);
  if (of_wave > longest_of_wave && of_wave <= 2 * longest_of_wave) return of_wave / 2;
  const double by = share.of_group >= usual || groups.of_warp == 1 ? 0.2 : 0.5;
  double length = std::clamp(usual * std::pow(share.of_group / usual, by), least, most);
  if (s.skew >= alike && groups.of_warp == 1) length = std::min(2 * length, most);
  if (s.skew < alike && share.row <= piece_share::short_row) {
    length = std::min(length, groups.of_warp > 1 && share.row >= piece_share::never_cut ? 1.5 * usual : usual);
  }
  return of_wave <= longest_of_wave ? std::max(length, of_wave) : length;
}

/// Where groups of lanes take their parts of a piece as streams. A row of up to 64 entries is not cut, nor one of usual
/// length, nor one half as long again. Work is at most that of the longest row that is not cut: pieces of different
/// work keep the lanes of a warp waiting. Rows of four pieces and more are cut into short ones, which are taken by
/// column: what runs at the same time then reads the same part of X in many rows, out of L1 or at least out of L2
/// (H200, f64, 32 columns: 20k x 2M with 1500 a row 1590 us one after another, 1012 by column, 5000 x 5000 dense 701
/// and 459). A group of lanes alone gets 96 entries, so that there is room for the sums of parts.
inline piece_shape shape_of_streams(const csr_stats& s, int multiprocessors, const stream_groups& groups) {
  constexpr std::int64_t never_cut = piece_share::never_cut;
  constexpr std::int64_t room_for_parts = 85;  // as much as the matrix, with 128 columns of f64
  const piece_share share(s, multiprocessors);
  const std::int64_t by_column = groups.of_warp == 1 ? 96 : piece_share::stream * std::int64_t{groups.of_warp};
  if (share.of_group >= piece_share::stream && share.row >= piece_share::pieces_of_long_row * by_column) {
    return piece_shape::of(by_column, never_cut, true);
  }
  const std::int64_t work = static_cast<std::int64_t>(std::ceil(stream_length(s, share, groups))) * groups.of_warp;
  if (!share.keeps_rows()) {
    const std::int64_t least_whole = groups.of_warp == 1 ? room_for_parts : never_cut;
    return piece_shape::of(work, std::clamp(share.fair(), least_whole, piece_share::longest_whole));
  }
  const std::int64_t usual_row = share.row + share.row / 2;
  const std::int64_t whole = s.max > 0 ? std::min<std::int64_t>(s.max + row_work, usual_row) : usual_row;
  return piece_shape::of(std::max(work, whole), never_cut);
}

/// Whether no row has much more entries than the others: for rows of X of less than a line, and by columns, rows then
/// stay whole (csr_many.cu). H200, 8 columns of f32 by rows: 0.8 to 0.9 of the time of pieces.
inline bool has_rows_alike(const csr_stats& s) {
  constexpr index_t longest = 512;
  constexpr double skew_of_alike = 8;
  return s.max > 0 && (s.max <= short_rows::longest || (s.max <= longest && s.skew < skew_of_alike));
}

/// Where rows of X are of less than a line, and a warp has all entries of its piece in shared memory.
struct short_piece {
  static constexpr int least_work = 64, most_work = 240;

  /// H200, 8 columns by rows, rows alike, 2 million entries and more: 0.85 of the time of whole rows in f64, 1.12 in
  /// f32.
  static bool pays(const csr_stats& s, std::size_t value_bytes) {
    constexpr std::int64_t many = 2'000'000;
    return !has_rows_alike(s) || (value_bytes == 8 && s.nnz >= many);
  }

  /// By column as streams are, where not all pieces are there at once.
  static piece_shape shape(const csr_stats& s, int multiprocessors) {
    const std::int64_t total = s.nnz + row_work * std::int64_t{s.rows};
    const std::int64_t warps = std::int64_t{std::max(multiprocessors, 1)} * piece_share::stream_warps;
    const auto work = static_cast<int>(std::clamp<std::int64_t>(total / warps, least_work, most_work));
    const bool long_rows = total >= piece_share::pieces_of_long_row * work * std::int64_t{s.rows};
    return {work, 1, total > warps * most_work && long_rows};
  }
};

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
