// Whether column-major vectors are turned into rows and back before and after a product with several right-hand sides
// (src/cuda/spmv/turn_vectors.cuh), which what it is predicted to take needs to know too
// (src/plan/spmm_terms_cuda.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tulle/core/types.hpp>
#include <tulle/formats/stats.hpp>

namespace tulle {

/// Bytes of A's entries.
inline std::int64_t entry_bytes(const csr_stats& s, std::size_t value_bytes) {
  return s.nnz * static_cast<std::int64_t>(value_bytes + sizeof(index_t));
}

/// Where turning column-major X into rows moves less than what is read in place: a sector for each that is different
/// among neighbouring entries, and some of A again for every 4 or 8 vectors: more where its rows are long, or L2 does
/// not hold it. It takes a launch or two. Numbers are fitted: docs/notes/0025-spmm-cuda.md.
class turning_rule {
 public:
  /// What bytes in place count where rows of A differ in length, as lanes that take rows side by side wait for each
  /// other.
  static constexpr double uneven_in_packed = 4.0 / 3, uneven_in_pieces = 2;

  turning_rule(const csr_stats& s, std::size_t value_bytes, double uneven) : nnz_(s.nnz), value_bytes_(value_bytes) {
    constexpr index_t longest_alike = 32;
    constexpr double skew_of_alike = 8, long_row = 16, most_in_l2 = 40e6, sector = 32;
    const bool rows_alike = s.max > 0 && (s.max <= longest_alike || s.skew < skew_of_alike);
    least_products_ = rows_alike ? 3'000'000 : 2'000'000;
    const double nnz = static_cast<double>(s.nnz), rows = s.rows, cols = s.cols;
    const double read = (value_bytes == 8 ? s.reads_f64 : s.reads_f32).tile_sectors;
    if (read == 0) {  // not sampled, as entries are few
      lines_pay_ = parts_pay_ = nnz >= 1.5 * (rows + cols);
      return;
    }
    const double matrix = static_cast<double>(entry_bytes(s, value_bytes)), of_x = nnz * read * sector;
    const double turned = (2 * cols + rows + nnz) * static_cast<double>(value_bytes) / (rows_alike ? 1 : uneven);
    lines_pay_ = of_x + (0.5 * std::min(1.0, s.mean / long_row) + (matrix > most_in_l2 ? 0.2 : 0)) * matrix >= turned;
    parts_pay_ = of_x + 0.2 * matrix >= turned;
  }
  /// `columns`: of one pass, whose rows of X are lines of 128 bytes or parts of one.
  [[nodiscard]] bool pays(index_t columns) const {
    const bool in_lines = static_cast<std::size_t>(columns) * value_bytes_ >= 128;
    return (in_lines ? lines_pay_ : parts_pay_) && nnz_ * columns >= least_products_;
  }

 private:
  std::int64_t nnz_, least_products_ = 0;
  std::size_t value_bytes_;
  bool lines_pay_ = false, parts_pay_ = false;
};

/// Elements of Y, of one pass, from which on it is turned beside X where rows of it are stored far apart: sectors that
/// are written in parts meet in L2 before.
inline constexpr std::int64_t least_turned_y = 1 << 20;

/// As many columns as kernels take at once that do not fill lines of 128 bytes with them.
inline constexpr index_t few_columns = 8;

/// What a plan that was not told of column-major vectors may have room for: a share of the matrix, or 8 MB, or 1/2048
/// of the device's memory.
class untold_room {
 public:
  untold_room(const csr_stats& s, std::size_t value_bytes, std::size_t device_bytes)
      : entries_(static_cast<double>(entry_bytes(s, value_bytes))),
        little_(std::max(8.0 * (1 << 20), static_cast<double>(device_bytes) / 2048)),
        value_bytes_(value_bytes) {}

  /// Vectors of X that it turns at once: a line of 128 bytes of each row where that takes at most half of the matrix,
  /// else 8 where they take no more than it, or none. `pays(columns)`: whether to turn so many does.
  template <class Pays>
  [[nodiscard]] index_t turned(index_t cols, const Pays& pays) const {
    const auto line = static_cast<index_t>(128 / value_bytes_);
    return has_lines(line, cols) && pays(line) ? line : turned_few(cols, pays);
  }
  /// 8 or none.
  template <class Pays>
  [[nodiscard]] index_t turned_few(index_t cols, const Pays& pays) const {
    return has(few_columns, cols, 1) && pays(few_columns) ? few_columns : 0;
  }
  [[nodiscard]] bool has_lines(index_t columns, index_t elements) const { return has(columns, elements, 0.5); }

 private:
  [[nodiscard]] bool has(index_t columns, index_t elements, double of_matrix) const {
    return static_cast<double>(value_bytes_) * columns * elements <= std::max(of_matrix * entries_, little_);
  }

  double entries_, little_;  // bytes
  std::size_t value_bytes_;
};

}  // namespace tulle
