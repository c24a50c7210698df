// How long the arrays of a matrix_ref are, and what every use of one checks first.
#pragma once

#include <cstdint>
#include <string_view>
#include <tulle/core/context.hpp>
#include <tulle/formats/matrix_ref.hpp>

namespace tulle {

/// Elements of each array; 0 for an array that the format does not have.
struct matrix_arrays {
  std::int64_t offsets = 0;  // rowptr
  std::int64_t rowind = 0;
  std::int64_t indices = 0;  // colind
  std::int64_t values = 0;
  std::int64_t masks = 0;
  std::int64_t row_masks = 0;
};

/// Reads the last offset of a SELL or a bin_bsr, which may wait for a device; else from sizes alone. Throws
/// INVALID_STRUCTURE for a bin_bsr whose last offset is no number of slots.
matrix_arrays arrays_of(const context& ctx, const matrix_ref& a);

/// The offset of a row (or, of a CSC, of a column), wherever it is; waits for a device.
std::int64_t offset_at(const context& ctx, const matrix_ref& a, index_t row);

/// Throws INVALID_ARGUMENT where the driver knows that an array of `name` is not in the memory that it is said to be
/// in: a device array that is host memory, or the reverse. Asks only where this process works on a device; takes about
/// a microsecond.
void check_memory(std::string_view name, const void* array, memory_space said);

/// Throws INVALID_DIMENSIONS (a negative or inconsistent size), NULL_POINTER (an array is missing), INVALID_ARGUMENT (the
/// context cannot reach the arrays). `name` is what messages call the matrix; values may be missing where only the
/// pattern is read.
void check_matrix(const context& ctx, std::string_view name, const matrix_ref& a, bool reads_values = true);

/// A copy in the memory of `ctx` that owns its arrays.
matrix_ref copied(const context& ctx, const matrix_ref& a);

/// The matrix in the memory of `ctx`: as it is where it is there, else a copy. It must have passed check_matrix.
matrix_ref placed(const context& ctx, const matrix_ref& a);

}  // namespace tulle
