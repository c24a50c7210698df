// Whether column-major vectors are turned into rows and back before and after a product with several right-hand sides
// (src/cuda/spmv/turn_vectors.cuh), which what it is predicted to take needs to know too
// (src/plan/spmm_terms_cuda.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tulle/core/types.hpp>
#include <tulle/formats/stats.hpp>

namespace tulle {

/// Where turning column-major X and Y, or X alone, into rows costs less than what kernels that read neighbouring
/// elements of a vector lose to the others. It takes a launch or two more; where both are small their sectors come from
/// L1.
struct turning_bounds {
  double few;             // entries for an element of X or Y, below which vectors may stay where they are
  double longest_beside;  // mean length of rows up to which lanes that take a row each find its next entries in L1
  std::int64_t products, products_of_small;  // at least, of one pass over A; of small vectors
  double of_x_alone = 0;                     // what its bytes count, where Y is stored as it lies

  static constexpr double always = std::numeric_limits<double>::infinity();
  static constexpr turning_bounds of_packed() { return {4, 16, 4'000'000, 12'000'000}; }
  static constexpr turning_bounds of_streams() { return {1.5, always, 4'000'000, 4'000'000}; }
  /// By the bytes of both ways alone.
  static constexpr turning_bounds of_x() { return {always, always, 3'000'000, 3'000'000, 1.15}; }
  /// Of csr.pieces for rows of X of less than a line. Where rows of A differ in length, X alone: by columns they wait
  /// for each other.
  static constexpr turning_bounds of_short_pieces(bool rows_alike) {
    return rows_alike ? of_x() : turning_bounds{0, 0, 2'000'000, 2'000'000};
  }
};

/// docs/notes/0025-spmm-cuda.md.
class turning_rule {
 public:
  turning_rule(const csr_stats& s, std::size_t value_bytes, const turning_bounds& bounds) : nnz_(s.nnz) {
    const std::int64_t elements = std::int64_t{s.rows} + s.cols;
    const double value = static_cast<double>(value_bytes), nnz = static_cast<double>(s.nnz);
    const double sectors = (value_bytes == 8 ? s.reads_f64 : s.reads_f32).tile_sectors;  // an entry reads
    constexpr double sector = 32, of_matrix = 0.4;  // A is read for 8 vectors or 4 at a time
    const double in_place = nnz * (sectors * sector + of_matrix * value);
    const double turned = bounds.of_x_alone > 0 ? bounds.of_x_alone * (2.0 * s.cols + s.rows + nnz) * value
                                                : (4.0 * static_cast<double>(elements) + nnz) * value;
    const bool looked_at = sectors > 0;  // few entries are not
    const double few = looked_at ? bounds.few : std::min(bounds.few, few_unseen);
    few_for_an_element_ = nnz < few * static_cast<double>(elements) &&
                          (!looked_at || (s.mean <= bounds.longest_beside && in_place < turned));
    least_products_ = elements > small ? bounds.products : bounds.products_of_small;
  }
  /// Entries, for an element of X or Y.
  [[nodiscard]] bool few_for_an_element() const { return few_for_an_element_; }
  /// `columns`: of one pass.
  [[nodiscard]] bool pays(index_t columns) const { return !few_for_an_element_ && nnz_ * columns >= least_products_; }

 private:
  static constexpr std::int64_t small = 100'000;  // elements
  static constexpr double few_unseen = 1.5;

  std::int64_t nnz_, least_products_;
  bool few_for_an_element_;
};

/// As many columns as kernels take at once that do not fill lines of 128 bytes with them.
inline constexpr index_t few_columns = 8;

/// Bytes of A's entries.
inline std::int64_t entry_bytes(const csr_stats& s, std::size_t value_bytes) {
  return s.nnz * static_cast<std::int64_t>(value_bytes + sizeof(index_t));
}

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
