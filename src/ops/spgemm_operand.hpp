// A matrix of C = M o (A B) + D as the kernel gets it: on the backend, transposed or sorted where that is needed, with
// offsets of one width. What of it is no longer the caller's is owned here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tulle/core/context.hpp>

#include "kernels/operand_kernels.hpp"
#include "ops/any_buffer.hpp"

namespace tulle::detail {

class spgemm_operand {
 public:
  enum class reads { pattern, values };

  /// The matrix where it is, or a copy of it on the backend. Throws INVALID_DIMENSIONS, NULL_POINTER, and
  /// INVALID_ARGUMENT for a device matrix in a CPU context. What is only read for its pattern may have no values.
  spgemm_operand(const context& ctx, std::string name, const csr_ref& a, reads what = reads::values);

  /// As the caller gave it, and that on the backend.
  [[nodiscard]] const csr_ref& given() const noexcept { return given_; }
  [[nodiscard]] const csr_ref& source() const noexcept { return source_; }
  /// As the kernel gets it. Its values are those of the last `refresh`.
  [[nodiscard]] const csr_ref& ref() const noexcept { return ref_; }

  /// Throws INVALID_STRUCTURE naming the matrix and the row, where the pattern was found not to be sound.
  void require(const pattern_counts& found) const;
  /// Replaces the pattern by that of its transpose. Its rows are then ascending; duplicates are side by side.
  void transpose();
  /// Makes every row increase strictly: a stable sort, and duplicates become one entry.
  void sort();
  /// Duplicates side by side become one entry.
  void fold();
  void fit_offsets(offset_type type);
  /// The same offsets as those of a matrix with this pattern, which must live as long.
  void borrow_offsets(const csr_ref& same) noexcept;

  /// Other values of the source, on the backend.
  void set_values(const void* values) noexcept;
  /// The values of the source in the order of the pattern. No allocation, no synchronisation.
  void refresh();

  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  /// The transpose of ref_, positions carried along.
  void turn();

  context ctx_;
  std::string name_;
  bool has_values_;
  csr_ref given_;
  csr_ref source_;
  csr_ref ref_;
  any_buffer copied_offsets_, copied_columns_, copied_values_;  // of a host matrix
  any_buffer offsets_, columns_, values_;                       // of another pattern
  any_buffer positions_;  // of the pattern's entries (before folding) in the source; empty: where they are
  any_buffer segments_;   // of entries that were folded
  scalar_type position_type_ = scalar_type::i32;
};

}  // namespace tulle::detail
