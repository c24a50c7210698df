// Y = A X and C = A B at once, of matrices in forms that a plan would convert first: coordinates, diagonals, dense blocks of any
// shape. Nothing is planned, copied or validated: structure is trusted, and broken indices are undefined behaviour. On the host
// alone, for values of every type; results do not depend on the number of threads. Errors as in any_spmv_plan.
#pragma once

#include <cstdint>
#include <tulle/core/buffer.hpp>
#include <tulle/core/context.hpp>
#include <tulle/core/vector_ref.hpp>
#include <tulle/formats/matrix_ref.hpp>

namespace tulle {

/// Diagonals (DIA): element (j - offsets[d], j) of A is values[d * length + j], for those that are inside of A and j < length.
/// Diagonals may be in any order; those of the same offset add up.
struct diagonals_ref {
  scalar_type type = scalar_type::f64;
  index_t rows = 0;
  index_t cols = 0;
  std::int64_t diagonals = 0;
  std::int64_t length = 0;
  const std::int32_t* offsets = nullptr;  // diagonals
  const void* values = nullptr;           // diagonals * length
};

/// Block CSR with blocks of block_rows x block_cols, which divide A: block k of block row R has its column in colind[k] (in
/// blocks) and its values, by rows, from k * block_rows * block_cols on. Blocks of a row may be in any order; equal ones add up.
struct blocks_ref {
  type_key types;
  index_t rows = 0;
  index_t cols = 0;
  index_t block_rows = 1;
  index_t block_cols = 1;
  const void* rowptr = nullptr;     // rows / block_rows + 1
  const index_t* colind = nullptr;
  const void* values = nullptr;

  [[nodiscard]] index_t rows_of_blocks() const noexcept { return rows / block_rows; }
  [[nodiscard]] std::int64_t blocks() const noexcept {
    return types.offset == offset_type::i64 ? static_cast<const std::int64_t*>(rowptr)[rows_of_blocks()]
                                            : static_cast<const std::int32_t*>(rowptr)[rows_of_blocks()];
  }
};

/// A blocks_ref that owns its arrays.
struct block_matrix {
  scalar_type type = scalar_type::f64;
  index_t rows = 0;
  index_t cols = 0;
  index_t block_rows = 1;
  index_t block_cols = 1;
  buffer<std::int64_t> rowptr;
  buffer<index_t> colind;
  buffer<std::byte> values;
};

/// A diagonals_ref that owns its arrays.
struct diagonal_matrix {
  scalar_type type = scalar_type::f64;
  index_t rows = 0;
  index_t cols = 0;
  std::int64_t length = 0;
  buffer<std::int32_t> offsets;  // ascending
  buffer<std::byte> values;
};

/// Y = A X. X and Y are row-major, of A's type, and apart; `a` is a COO, or one of the forms above.
void apply_once(const context& ctx, const matrix_ref& a, const const_multivector_ref& x, const multivector_ref& y);
void apply_once(const context& ctx, const diagonals_ref& a, const const_multivector_ref& x, const multivector_ref& y);
void apply_once(const context& ctx, const blocks_ref& a, const const_multivector_ref& x, const multivector_ref& y);

/// C = A B of blocks: those of C are A's rows by B's columns, and B's have as many rows as A's have columns. Block columns ascend
/// in every row of C. The products of an entry are added in the order of A's blocks.
block_matrix multiply_blocks(const context& ctx, const blocks_ref& a, const blocks_ref& b);

/// C = A B of diagonals: those whose offsets are the sum of one of A's and one of B's and lie inside of C. The products of an
/// element are added in the order of A's diagonals, then B's. Throws OVERFLOW where C does not fit memory.
diagonal_matrix multiply_diagonals(const context& ctx, const diagonals_ref& a, const diagonals_ref& b);

}  // namespace tulle
