// What Y = A X does on CUDA by each kernel that takes several right-hand sides, from a matrix's statistics: the terms
// that spmm_choice_cuda.hpp multiplies by microseconds. Entries, rows and lines are counted in millions, bytes in
// megabytes; a line is 128 bytes of a row of X or of Y.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <tulle/core/context.hpp>
#include <tulle/formats/stats.hpp>

#include "kernels/piece_shape.hpp"
#include "kernels/row_lanes.hpp"
#include "kernels/turning_rule.hpp"
#include "plan/spmm_costs_cuda.hpp"

namespace tulle {

/// csr.warp stands for all kernels of CSR, which share its pass, but csr.pieces.
inline constexpr std::array<std::string_view, 4> many_candidates = {"packed", "csr.pieces", "csr.warp",
                                                                    "bin_bsr.compact"};

/// Lines of X: `tile`, `window`, `slab` those that are different among entries that lie together (spmv_terms_cuda.hpp),
/// `far` and `far_slab` those that L2 does not hold.
struct spmm_terms_cuda {
  enum term {
    launch,
    ramp,
    rows,
    cols,
    entries,
    lines,
    tile,
    window,
    slab,
    far,
    far_slab,
    bytes,
    ragged,
    few_rows,
    longest,
    cuts,
    few_entries,
    ragged_rows,
    count
  };
  std::array<double, count> of{};

  double& operator[](int t) { return of[static_cast<std::size_t>(t)]; }
  double operator[](int t) const { return of[static_cast<std::size_t>(t)]; }
  /// By what a device is faster: nothing, its multiprocessors, or its bandwidth.
  static constexpr bool by_bandwidth(int t) { return t == bytes || t == far || t == far_slab || t == cols; }
  static constexpr bool by_multiprocessors(int t) {
    return t >= rows && t != cuts && t != few_entries && !by_bandwidth(t);
  }
};

/// Whether column-major X is turned into rows.
inline bool packed_turns(const csr_stats& s, const many_task& task) {
  return !task.by_row && turning_rule(s, task.value, turning_rule::uneven_in_packed).pays(task.columns);
}
inline bool pieces_turn(const csr_stats& s, const many_task& task) {
  return !task.by_row && turning_rule(s, task.value, turning_rule::uneven_in_pieces).pays(task.columns);
}

/// Whether csr.pieces leaves rows whole, as csr.warp does, for X by rows. By columns it is predicted by costs of its
/// own where it does: without, regret was 0.01 higher on families left out by sixths.
inline bool pieces_stay_whole(const csr_stats& s, const many_task& task) {
  if (!task.by_row) return false;
  if (task.columns <= few_columns) return !short_piece::pays(s, task.value);
  return short_rows::stay_whole(s.max, s.mean, s.nnz, task.columns, static_cast<int>(task.value));
}

class spmm_terms_of {
  using terms = spmm_terms_cuda;
  static constexpr double million = 1e6, line_bytes = 128;

 public:
  spmm_terms_of(const csr_stats& s, const many_task& task, const device_info& device)
      : s_(s),
        value_(static_cast<double>(task.value)),
        by_row_(task.by_row),
        columns_(task.columns),
        lines_(task.columns * value_ / line_bytes),
        l2_(0.55 * static_cast<double>(device.l2_bytes)),
        multiprocessors_(device.multiprocessors),
        resident_(2048.0 * device.multiprocessors) {}

  [[nodiscard]] terms of(std::string_view kernel) const {
    const bool packed = kernel == "packed", in_sectors = kernel == "csr.warp" && !by_row_;
    const bool turns = packed ? packed_turns(s_, task()) : kernel == "csr.pieces" && pieces_turn(s_, task());
    const piece_shape pieces = kernel == "csr.pieces" ? shape_of_pieces() : piece_shape{};
    const double n = static_cast<double>(s_.nnz) / million, rows = s_.rows / million;
    const double panel = lines_at_once(kernel);
    const double past = past_l2(s_.cols * std::min(lines_, panel) * line_bytes);
    const double passes = std::max(1.0, lines_ / panel);
    const double padding = std::min(4.0, s_.slice_padding - 1);
    terms t;
    t[terms::launch] = 1;
    t[terms::ramp] = std::sqrt(n);
    t[terms::rows] = rows * lines_;
    t[terms::cols] = by_row_ || turns ? s_.cols / million * lines_ : 0;
    t[terms::entries] = n;
    t[terms::lines] = n * lines_;
    t[terms::slab] = n * lines_ * read(&csr_stats::x_reads::slab_sectors, in_sectors);
    if (pieces.by_column) {  // the same part of X in many rows, which L2 holds
      t[terms::tile] = t[terms::window] = t[terms::slab];
    } else {
      t[terms::tile] = n * lines_ * read(&csr_stats::x_reads::tile_sectors, in_sectors);
      t[terms::window] = n * lines_ * read(&csr_stats::x_reads::window_sectors, in_sectors);
      t[terms::far] = t[terms::window] * past;
      t[terms::far_slab] = t[terms::slab] * past;
    }
    t[terms::bytes] = n * passes * (value_ + (packed ? s_.offset_bytes : 4));
    t[terms::longest] = s_.max / 1000.0 * lines_;
    t[terms::ragged] = n * padding * std::max(1.0, lines_);
    t[terms::few_rows] = std::max(0.0, 1 - s_.rows / resident_) * s_.mean / 1000 * lines_;
    t[terms::cuts] = s_.max > (kernel == "csr.pieces" ? pieces.longest_whole() : longest_of_packed()) ? 1 : 0;
    t[terms::few_entries] = std::max(0.0, 1 - n / 0.1);
    t[terms::ragged_rows] = rows * lines_ * padding;
    if (kernel == "csr.warp") {
      const row_panels panels = panels_for(columns_, by_row_, static_cast<int>(value_));
      const row_lanes lanes = lanes_for(s_.rows, s_.nnz, panels.across, panels.panels, multiprocessors_);
      t[terms::longest] = std::min<double>(s_.max, lanes.longest_row()) / lanes.along;
      t[terms::cuts] = s_.max > lanes.longest_row() ? 1 : 0;
    }
    if (kernel == "bin_bsr.compact") t[terms::far_slab] = n / std::max(0.05, *std::ranges::max_element(s_.block_fill));
    return t;
  }

 private:
  [[nodiscard]] many_task task() const { return {columns_, by_row_, static_cast<std::size_t>(value_)}; }
  /// Lines of a row of X that are read in one pass over A.
  [[nodiscard]] double lines_at_once(std::string_view kernel) const {
    if (kernel == "packed") return 1;
    return kernel == "csr.pieces" ? 4 : lines_;
  }
  [[nodiscard]] piece_shape shape_of_pieces() const {
    const stream_groups groups = stream_groups::of(columns_, static_cast<int>(value_));
    if (!by_row_ && !pieces_turn(s_, task())) return shape_of_lanes(s_, multiprocessors_);
    return groups.in_lines() ? shape_of_streams(s_, multiprocessors_, groups)
                             : short_piece::shape(s_, multiprocessors_);
  }
  /// Entries from which `packed` cuts a row, about: the sums of its parts are added when all are there.
  [[nodiscard]] double longest_of_packed() const {
    const double of_a_lane = std::ceil(2 * static_cast<double>(s_.nnz) / resident_);
    return 64 * std::clamp(of_a_lane, 2.0, 32.0);
  }
  [[nodiscard]] double past_l2(double bytes) const { return std::max(0.0, 1 - l2_ / std::max(bytes, 1.0)); }
  /// Lines for each vector's worth of a line: by columns a sector has several elements of one vector, by rows a line is
  /// one row of X.
  [[nodiscard]] double read(double csr_stats::x_reads::*among, bool in_sectors) const {
    constexpr double sector_bytes = 32;
    if (!in_sectors) return different(among);
    return (value_ == 8 ? s_.reads_f64 : s_.reads_f32).*among * sector_bytes / value_;
  }
  /// Different columns an entry, from those of sectors of 4 and of 8: each halving of a sector is taken to have the
  /// effect of the one that was measured.
  [[nodiscard]] double different(double csr_stats::x_reads::*among) const {
    const double by_4 = s_.reads_f64.*among, by_8 = std::max(s_.reads_f32.*among, 1e-9);
    const double growth = std::clamp(by_4 / by_8, 1.0, 2.0);
    return std::min(1.0, by_4 * growth * growth);
  }

  const csr_stats& s_;
  double value_;
  bool by_row_;
  index_t columns_;
  double lines_, l2_;
  int multiprocessors_;
  double resident_;
};

}  // namespace tulle
