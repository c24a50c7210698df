// Y = A X and C = A B at once, of matrices in forms that a plan would convert first: coordinates, diagonals, dense
// blocks of any shape; and small products of CSR. Nothing is planned, copied or validated: structure is trusted, and
// broken indices are undefined behaviour. On the host alone, for values of every type; results do not depend on the
// number of threads. Errors as in any_spmv_plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <tulle/core/buffer.hpp>
#include <tulle/core/context.hpp>
#include <tulle/core/vector_ref.hpp>
#include <tulle/formats/matrix_ref.hpp>

namespace tulle {

/// Diagonals (DIA): element (j - offsets[d], j) of A is values[d * length + j], for those that are inside of A and
/// j < length. Diagonals may be in any order; those of the same offset add up.
struct diagonals_ref {
  scalar_type type = scalar_type::f64;    ///< of the values
  index_t rows = 0;                       ///< rows of the matrix
  index_t cols = 0;                       ///< columns of the matrix
  std::int64_t diagonals = 0;             ///< how many are stored
  std::int64_t length = 0;                ///< values of each
  const std::int32_t* offsets = nullptr;  ///< diagonals; 0 is the main one, positive ones are above it
  const void* values = nullptr;           ///< diagonals * length
};

/// Block CSR with blocks of block_rows x block_cols, which divide A: block k of block row R has its column in colind[k]
/// (in blocks) and its values, by rows, from k * block_rows * block_cols on. Blocks of a row may be in any order; equal
/// ones add up.
struct blocks_ref {
  type_key types;                   ///< of the values and of rowptr
  index_t rows = 0;                 ///< rows of the matrix
  index_t cols = 0;                 ///< columns of the matrix
  index_t block_rows = 1;           ///< rows of a block
  index_t block_cols = 1;           ///< columns of a block
  const void* rowptr = nullptr;     ///< block rows + 1
  const index_t* colind = nullptr;  ///< blocks
  const void* values = nullptr;     ///< blocks * block_rows * block_cols

  /// Rows in blocks.
  [[nodiscard]] index_t rows_of_blocks() const noexcept { return rows / block_rows; }
  /// Blocks, as rowptr has it.
  [[nodiscard]] std::int64_t blocks() const noexcept {
    return types.offset == offset_type::i64 ? static_cast<const std::int64_t*>(rowptr)[rows_of_blocks()]
                                            : static_cast<const std::int32_t*>(rowptr)[rows_of_blocks()];
  }
};

/// A blocks_ref that owns its arrays.
struct block_matrix {
  scalar_type type = scalar_type::f64;  ///< of the values
  index_t rows = 0;                     ///< rows of the matrix
  index_t cols = 0;                     ///< columns of the matrix
  index_t block_rows = 1;               ///< rows of a block
  index_t block_cols = 1;               ///< columns of a block
  buffer<std::int64_t> rowptr;          ///< block rows + 1
  buffer<index_t> colind;               ///< blocks
  buffer<std::byte> values;             ///< of `type`, block_rows * block_cols for each block
};

/// A diagonals_ref that owns its arrays.
struct diagonal_matrix {
  scalar_type type = scalar_type::f64;  ///< of the values
  index_t rows = 0;                     ///< rows of the matrix
  index_t cols = 0;                     ///< columns of the matrix
  std::int64_t length = 0;              ///< values of each diagonal
  buffer<std::int32_t> offsets;         ///< ascending
  buffer<std::byte> values;             ///< of `type`, length for each offset
};

/// Y = A X for a COO. X and Y are row-major, of A's type, and apart.
void apply_once(const context& ctx, const matrix_ref& a, const const_multivector_ref& x, const multivector_ref& y);
/// The same for diagonals.
void apply_once(const context& ctx, const diagonals_ref& a, const const_multivector_ref& x, const multivector_ref& y);
/// The same for blocks.
void apply_once(const context& ctx, const blocks_ref& a, const const_multivector_ref& x, const multivector_ref& y);

/// C = A B of blocks: those of C are A's rows by B's columns, and B's have as many rows as A's have columns. Rows
/// of C are not sorted: the block column that was found last comes first. The products of an entry are added in the
/// order of A's blocks.
block_matrix multiply_blocks(const context& ctx, const blocks_ref& a, const blocks_ref& b);

/// C = A B of CSR as blocks of 1 x 1, or nothing where that takes more than `most_products` multiplications, or A has
/// more entries or B more columns than so many: what spgemm is for. Rows of C are not sorted, the column that was found
/// last comes first, and have no zeros. colind and values may be longer than rowptr says.
std::optional<block_matrix> multiply_small(const context& ctx, const matrix_ref& a, const matrix_ref& b,
                                           std::int64_t most_products);

/// C = A B of diagonals: those that a diagonal of A and one of B meet in. The products of an element are added in the
/// order of A's diagonals, then B's. Throws OVERFLOW where C does not fit memory.
diagonal_matrix multiply_diagonals(const context& ctx, const diagonals_ref& a, const diagonals_ref& b);

}  // namespace tulle
