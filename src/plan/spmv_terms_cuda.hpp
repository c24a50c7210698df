// What y = A x does on CUDA by each kernel that may be chosen, from a matrix's statistics: the terms that
// spmv_costs_cuda.hpp multiplies by microseconds. Entries, rows and reads are counted in millions, bytes in megabytes.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <tulle/core/context.hpp>

#include "kernels/bsr_block.hpp"
#include "kernels/column_blocks.hpp"

namespace tulle {

inline constexpr std::array<std::string_view, 6> cuda_candidates = {"csr5", "csr5.blocked", "packed",
                                                                    "sell", "ell",          "bin_bsr.compact"};

/// What a term counts. Reads of x: `tile` those that the rest of a block does not make, `near` those of them that
/// neighbouring blocks do not make either (x of few columns that most rows read is in L1), `far` those that L2 does not
/// hold, `sectors` what a warp asks for at once, `wide` lines, or for kernels of slices what consecutive entries read.
/// The last ones are the kernel's own.
struct spmv_terms_cuda {
  enum term { launch, ramp, rows, entries, bytes, near, tile, far, sectors, wide, own, own_1, own_2, own_3, count };
  std::array<double, count> of{};

  double& operator[](int t) { return of[static_cast<std::size_t>(t)]; }
  double operator[](int t) const { return of[static_cast<std::size_t>(t)]; }
  /// By what a device is faster: nothing, its multiprocessors, or its bandwidth.
  static constexpr bool by_bandwidth(int t) { return t == bytes || t == far; }
  static constexpr bool by_multiprocessors(int t) { return t >= rows && !by_bandwidth(t); }
};

class spmv_terms_of {
  using terms = spmv_terms_cuda;
  static constexpr double million = 1e6;

 public:
  spmv_terms_of(const csr_stats& s, std::size_t value_bytes, const device_info& device)
      : s_(s),
        device_(device),
        value_bytes_(value_bytes),
        value_(static_cast<double>(value_bytes)),
        n_(static_cast<double>(s.nnz) / million),
        rows_(s.rows / million),
        reads_(value_bytes == 8 ? s.reads_f64 : s.reads_f32),
        resident_(2048.0 * device.multiprocessors) {}

  [[nodiscard]] terms of(std::string_view kernel) const {
    if (kernel == "csr5") return csr5();
    if (kernel == "csr5.blocked") return csr5_blocked();
    if (kernel == "packed") return packed();
    if (kernel == "sell") return slices(s_.sell_padding < 1.05 ? s_.sell_padding : sorted_padding());
    if (kernel == "ell") return slices(s_.skew);
    return blocks();
  }

 private:
  [[nodiscard]] terms common() const {
    terms t;
    t[terms::launch] = 1;
    t[terms::ramp] = std::sqrt(n_);
    t[terms::rows] = rows_;
    t[terms::entries] = n_;
    return t;
  }
  [[nodiscard]] double x_bytes() const { return s_.cols * value_; }
  /// The share of x that L1 cannot hold, and that L2 cannot.
  static double past_l1(double x) { return std::max(0.0, 1 - 180e3 / std::max(x, 1.0)); }
  [[nodiscard]] double past_l2(double x) const {
    return std::max(0.0, 1 - 0.55 * static_cast<double>(device_.l2_bytes) / std::max(x, 1.0));
  }
  /// Entry by entry, with an x of so many bytes at a time.
  void read_in_order(terms& t, double x) const {
    t[terms::tile] = n_ * reads_.tile_sectors * past_l1(x);
    t[terms::near] = t[terms::tile] * reads_.window_sectors;
    t[terms::far] = n_ * reads_.window_sectors * reads_.window_sectors * past_l2(x);
    t[terms::sectors] = n_ * reads_.sectors;
    t[terms::wide] = n_ * reads_.lines;
  }
  /// Neighbouring rows side by side.
  void read_in_slices(terms& t) const {
    t[terms::tile] = n_ * reads_.slice_sectors * past_l1(x_bytes());
    t[terms::near] = t[terms::tile] * reads_.slab_sectors;
    t[terms::far] = n_ * reads_.slab_sectors * reads_.slab_sectors * past_l2(x_bytes());
    t[terms::sectors] = n_ * reads_.slice_sectors;
    t[terms::wide] = n_ * reads_.window_sectors * past_l1(x_bytes());
  }
  [[nodiscard]] double csr5_bytes() const {
    const index_t columns = s_.tile_columns > 0 ? s_.tile_columns : s_.cols;
    const double column = columns <= 0xffff ? 2 : columns <= 0xffffff ? 3 : 4;
    return s_.tile_padding * n_ * (value_ + column + 0.5);
  }
  [[nodiscard]] double ragged() const { return n_ * std::min(4.0, s_.slice_padding - 1); }
  /// Of slots where rows are sorted within windows: between none and what rows in place have.
  [[nodiscard]] double sorted_padding() const { return 1 + 0.1 * std::min(4.0, s_.slice_padding - 1); }
  /// Entries of rows that are too few for the threads there are.
  [[nodiscard]] double few_rows() const { return std::max(0.0, 1 - s_.rows / resident_) * s_.mean / 1000; }

  /// How many lanes packed gives a row: 0 for one, 1 for all of a warp.
  [[nodiscard]] double shared_rows() const {
    const double share = static_cast<double>(s_.nnz) / (0.75 * resident_);
    const double positions = std::clamp(1.5 * share, 8.0, 96.0);
    return std::clamp(std::ceil(std::log2(std::max(1.0, s_.mean / positions))) / 5, 0.0, 1.0);
  }

  [[nodiscard]] terms csr5() const {
    terms t = common();
    read_in_order(t, x_bytes());
    t[terms::bytes] = csr5_bytes() + rows_ * value_;
    t[terms::own] = n_ * (s_.tile_padding - 1);
    return t;
  }
  [[nodiscard]] terms csr5_blocked() const {
    terms t = common();
    const double blocks = column_blocks_for(s_.cols, value_bytes_, device_.l2_bytes).count;
    read_in_order(t, x_bytes() / blocks);
    t[terms::far] = 0;
    t[terms::bytes] = csr5_bytes() + rows_ * value_ * (2 * blocks - 1);
    t[terms::own] = rows_ * (blocks - 1);
    t[terms::own_1] = blocks;
    t[terms::own_2] = rows_ * blocks * std::exp(-s_.mean / blocks);  // rows without entries in a block take a slot
    return t;
  }
  [[nodiscard]] terms packed() const {
    terms t = common();
    read_in_slices(t);
    t[terms::bytes] = n_ * (value_ + s_.offset_bytes) + rows_ * (value_ + 2);
    t[terms::own] = ragged();
    t[terms::own_1] = n_ * std::min(1.0, s_.offset_bytes);
    t[terms::own_2] = n_ * std::min(1.0, s_.mean / 200);  // lanes that share a row
    t[terms::own_3] = n_ * reads_.sectors * shared_rows();
    return t;
  }
  [[nodiscard]] terms slices(double padding) const {
    terms t = common();
    read_in_slices(t);
    t[terms::bytes] = n_ * padding * (value_ + 4) + rows_ * value_;
    t[terms::own] = s_.max / 1000.0;
    t[terms::own_1] = few_rows();
    t[terms::own_2] = ragged();
    return t;
  }
  [[nodiscard]] terms blocks() const {
    terms t = common();
    const index_t b = best_bsr_block(s_, value_bytes_);
    const double fill = std::max(s_.block_fill[static_cast<std::size_t>(b)], 1e-3);
    read_in_slices(t);
    for (const int read : {terms::near, terms::tile, terms::far, terms::sectors, terms::wide}) t[read] /= b;
    t[terms::bytes] = n_ * bsr_bytes_per_nonzero(s_, b, value_bytes_) + rows_ * value_;
    t[terms::own] = rows_ / b;
    t[terms::own_1] = s_.max / (1000.0 * b);
    t[terms::own_2] = n_ / fill;
    t[terms::own_3] = ragged();
    return t;
  }

  const csr_stats& s_;
  const device_info& device_;
  std::size_t value_bytes_;
  double value_, n_, rows_;
  const csr_stats::x_reads& reads_;
  double resident_;
};

}  // namespace tulle
