// The matrix of a plan as its kernel gets it: on the backend, transposed where that was asked for, with the offsets
// that suit its size. Whatever of it is no longer the caller's is owned here.
#pragma once

#include <cstddef>
#include <tulle/core/context.hpp>
#include <tulle/formats/stats.hpp>

#include "kernels/spmv.hpp"
#include "ops/any_buffer.hpp"

namespace tulle::detail {

class spmv_operand {
 public:
  /// A where it is, or a copy of it on the backend. Throws INVALID_DIMENSIONS, NULL_POINTER, and INVALID_ARGUMENT for a
  /// device matrix in a CPU context.
  spmv_operand(const context& ctx, const csr_ref& a);

  [[nodiscard]] const csr_ref& ref() const noexcept { return a_; }

  /// Throws INVALID_STRUCTURE naming the row.
  void validate() const;
  [[nodiscard]] csr_stats statistics() const;
  /// What the choice of a kernel needs. Throws INVALID_STRUCTURE naming the row.
  [[nodiscard]] csr_stats inspect() const;
  /// Replaces A by a CSR of its transpose: a sort of the entries by column. Structure is trusted.
  void transpose();
  /// Where nnz is within reach of 2^31, 8 bytes an offset, so that kernels may count a little past the end of a row.
  /// Else, when `narrow` is set, 4 bytes: fewer to move in every application.
  void fit_offsets(bool narrow);

  /// New numbers in the order of the A that the operand was made from; borrowed where that is possible. For a
  /// transposed operand, another conversion: the pattern given to the constructor is read again.
  void update_values(const void* values, memory_space space);

  [[nodiscard]] std::size_t bytes() const noexcept { return offsets_.bytes() + columns_.bytes() + values_.bytes(); }

 private:
  void transpose_values(const void* values, memory_space space);

  context ctx_;
  csr_ref source_;  // as given
  csr_ref a_;
  bool transposed_ = false;
  any_buffer offsets_;  // of a copied, transposed or fitted matrix
  any_buffer columns_;  // of a copied or transposed matrix
  any_buffer values_;   // of a copied or transposed matrix, or after update_values from the other memory space
};

}  // namespace tulle::detail
