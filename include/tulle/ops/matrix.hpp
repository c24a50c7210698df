/// @file
/// Operations that make matrices of matrices: sums, transposes, slices, rows in order.
///
/// Matrices may be of any format, on the host or on the device of the context: each is taken as CSR in the context's
/// memory (see to_csr). Results are CSR there, own their arrays, and have 32-bit offsets where they fit. Structure is
/// trusted: validate() untrusted input first. Nothing depends on the number of threads or on the backend.
#pragma once

#include <cstdint>
#include <tulle/core/buffer.hpp>
#include <tulle/core/context.hpp>
#include <tulle/core/vector_ref.hpp>
#include <tulle/formats/matrix_ref.hpp>
#include <tulle/ops/permutation.hpp>

namespace tulle {

/// A copy on `ctx`, in the same format.
matrix_ref clone(const context& ctx, const matrix_ref& a);

/// The matrix as CSR in the memory of `ctx`: itself where it is that already, and then no copy; offsets of CSR, CSC and
/// BSR stay as wide as they are.
matrix_ref to_csr(const context& ctx, const matrix_ref& a);

/// The n x n matrix with ones on its diagonal.
matrix_ref identity(const context& ctx, index_t n, scalar_type type);

/// alpha A + beta B: the union of the patterns, rows sorted, sums that are 0 kept; each product is rounded, then their
/// sum. With a factor of 0 the values of its matrix are not read and count as 0. Duplicates within A or B are added
/// first.
matrix_ref add(const context& ctx, double alpha, const matrix_ref& a, double beta, const matrix_ref& b);
/// The same for new numbers, into the values of a known pattern C that contains those of A and B (others become 0).
/// Neither allocates nor waits; all three are CSR in the context's memory, of the same types, their columns increasing
/// strictly.
void add_into(const context& ctx, double alpha, const matrix_ref& a, double beta, const matrix_ref& b,
              const matrix_ref& c, const vector_ref& values);

/// A^T, rows sorted, and where its entries are in A as CSR: value i is A's value positions[i].
struct transposition {
  matrix_ref matrix;               ///< A^T, CSR
  buffer<std::int64_t> positions;  ///< nnz of them, in the context's memory
};
/// Sorts the entries on the backend of `ctx`, stable: duplicates keep their order.
transposition transpose(const context& ctx, const matrix_ref& a);

/// A with the conjugates of its values; the matrix itself where they are real. A^H is transposed(conjugate(A)), as a CSC.
/// The pattern is shared with A where A has an owner, else copied.
matrix_ref conjugate(const context& ctx, const matrix_ref& a);

/// out[i] = a_ii for i < min(rows, cols); 0 where there is no entry, duplicates added up in their order.
void diagonal(const context& ctx, const matrix_ref& a, const vector_ref& out);

/// D A and A D with the diagonal D in `factors`. The pattern is shared with A where A has an owner, else copied.
matrix_ref scale_rows(const context& ctx, const matrix_ref& a, const const_vector_ref& factors);
/// A D: value k times the factor of its column, factors[colind[k]].
matrix_ref scale_columns(const context& ctx, const matrix_ref& a, const const_vector_ref& factors);

/// begin .. end - 1.
struct index_range {
  index_t begin = 0;  ///< the first
  index_t end = 0;    ///< past the last
};
/// The part of A in some rows and columns, numbered from 0. Entries keep their order.
matrix_ref extract(const context& ctx, const matrix_ref& a, index_range rows, index_range columns);

/// P A Q^T: row i is A's row rows.order()[i], and A's column columns.order()[j] becomes column j. Columns ascend in every
/// row where they did in A. Permutations may be in any memory. Throws INVALID_DIMENSIONS.
matrix_ref permute(const context& ctx, const matrix_ref& a, const permutation& rows, const permutation& columns);
/// P A: rows alone are moved.
matrix_ref permute_rows(const context& ctx, const matrix_ref& a, const permutation& rows);
/// P A P^T, of a square A.
matrix_ref permute_symmetric(const context& ctx, const matrix_ref& a, const permutation& order);

/// Every row in ascending order of columns, stable. A itself where it is in order, without duplicates and has an owner.
matrix_ref sort(const context& ctx, const matrix_ref& a);
/// The same, and duplicates added up in their order.
matrix_ref sum_duplicates(const context& ctx, const matrix_ref& a);

/// Without the entries whose value is 0. NaN stays.
matrix_ref eliminate_zeros(const context& ctx, const matrix_ref& a);

}  // namespace tulle
