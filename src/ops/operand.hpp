// A matrix of an operation as its kernel gets it: checked, on the backend, as a CSR (or the blocks that it came as),
// transposed or sorted where that is needed, with offsets of one width. It owns every array that it had to copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tulle/core/context.hpp>
#include <tulle/formats/matrix_ref.hpp>
#include <tulle/formats/stats.hpp>
#include <tulle/ops/permutation.hpp>
#include <vector>

#include "kernels/matrix.hpp"

namespace tulle::detail {

class operand {
 public:
  enum class reads { pattern, values };

  /// Throws what check_matrix throws, and INVALID_STRUCTURE for row indices of a COO that are out of range.
  operand(const context& ctx, std::string name, const matrix_ref& a, reads what = reads::values);

  /// As the caller gave it.
  [[nodiscard]] const matrix_ref& given() const noexcept { return given_; }
  /// The same on the backend.
  [[nodiscard]] const matrix_ref& on_backend() const noexcept { return placed_; }
  /// On the backend: a BSR or bin_bsr that was given, else a CSR, of the transpose where `is_transpose` says so (a CSC
  /// is one).
  [[nodiscard]] const matrix_ref& source() const noexcept { return source_; }
  [[nodiscard]] bool is_transpose() const noexcept { return given_.format == matrix_format::csc; }
  /// As the kernel gets it. Its values are those of the last `refresh`.
  [[nodiscard]] const matrix_ref& ref() const noexcept { return ref_; }

  /// Throws INVALID_STRUCTURE naming the matrix and the row.
  void validate() const;
  /// The same where the pattern was found not to be sound.
  void require(const pattern_counts& found) const;
  [[nodiscard]] csr_stats statistics() const;
  /// What the choice of a kernel needs. Throws INVALID_STRUCTURE naming the row.
  [[nodiscard]] csr_stats inspect() const;

  /// Columns become their places in `kept`, which ascends; those that are not there all become one more.
  void renumber_columns(std::span<const index_t> kept);
  /// On the host.
  [[nodiscard]] std::vector<index_t> columns() const;

  /// A CSR of a BSR or a bin_bsr. Structure is trusted, as by all that follow.
  void to_csr();
  /// Replaces the pattern by that of its transpose. Its rows are then ascending; duplicates are side by side.
  void transpose();
  /// Replaces the pattern by that of the matrix in another order; its rows are then ascending. Not after `fold`.
  void permute(const permutation& rows, const permutation& columns);
  /// Makes every row increase strictly: a stable sort, and duplicates become one entry.
  void sort();
  /// Duplicates side by side become one entry.
  void fold();
  void fit_offsets(offset_type type);
  /// The same offsets as those of a matrix with this pattern, which must live as long.
  void borrow_offsets(const matrix_ref& same) noexcept;

  /// The matrix that was given, with the values that the caller lent last.
  [[nodiscard]] const matrix_ref& lent() const noexcept { return lent_; }
  /// Elements that update_values takes.
  [[nodiscard]] std::int64_t value_count() const { return value_count_; }
  /// Throws what is wrong with values for those that follow.
  void check_values(const const_vector_ref& values) const;
  /// Other values in the order of the matrix that was given; borrowed where that is possible. `refresh` comes next.
  void update_values(const void* values, memory_space space);
  /// The same for what reads `on_backend` alone: the source and the pattern's values stay as they were.
  void lend(const void* values, memory_space space);
  /// The values of the source in the order of the pattern. No allocation, no synchronisation.
  void refresh();

  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  [[nodiscard]] matrix_ref as_source(const matrix_ref& a) const;
  void take(offsets_buffer rowptr, buffer<index_t> colind);
  void transpose_pattern();
  void make_room_for_values();
  void validate_bins() const;

  context ctx_;
  std::string name_;
  bool has_values_;
  matrix_ref given_;
  matrix_ref lent_;
  matrix_ref placed_;  // the same on the backend
  matrix_ref source_;
  matrix_ref ref_;
  std::int64_t value_count_ = 0;
  bool converts_blocks_ = false;
  void* own_values_ = nullptr;  // where values from the other memory go
  buffer<std::byte> new_values_;
  offsets_buffer offsets_;  // of another pattern, as the next two
  buffer<index_t> columns_;
  buffer<std::byte> values_;
  buffer<std::int64_t> positions_;  // of the pattern's entries (before folding) in the source; empty: in order
  buffer<std::int64_t> segments_;   // of entries that were folded
};

}  // namespace tulle::detail
