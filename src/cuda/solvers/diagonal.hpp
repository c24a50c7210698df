// The diagonal of a matrix on the device: scaling by it, and the inverses of its blocks.
#pragma once

#include <tulle/core/buffer.hpp>
#include <tulle/formats/matrix_ref.hpp>

namespace tulle::cuda {

/// A BSR, or a CSR as blocks of 1.
struct block_arrays {
  const void* rowptr = nullptr;
  const index_t* colind = nullptr;
  const void* values = nullptr;
  type_key types;
  index_t rows = 0;  // block rows
  index_t block = 1;
};
block_arrays blocks_of(const matrix_ref& a);

/// Diagonal blocks of `block` rows of a BSR of such blocks or of a CSR, whose rows ascend. Throws INDEFINITE naming the
/// first that is not positive definite: one that the matrix lacks is not. A NaN is left to the iteration, which finds
/// it. The last block of a CSR may have fewer rows. Waits. With `inverses` (n * block values, row-major) it leaves
/// those there, and with `condition` kappa_1 of every block.
void invert_diagonal_blocks(const context& ctx, const block_arrays& a, index_t block, void* inverses,
                            double* condition = nullptr);

void invert_diagonal_blocks(const context& ctx, const matrix_ref& a, index_t block, void* inverses);

/// d = sqrt(a_ii) in f64 rounded once, and {least, greatest} of the a_ii above 0. Throws as above, unless `any` is
/// taken: roots may then be NaN. Waits.
struct diagonal_range {
  double least, greatest;
};
diagonal_range diagonal_roots(const context& ctx, const block_arrays& a, void* roots, bool any = false);

/// Whether rows of a CSR come in blocks that lack no entry: `block` rows at a time with the same columns, which come
/// `block` at a time from a multiple of it on. Waits.
bool is_made_of_blocks(const context& ctx, const block_arrays& a, index_t block);

/// W = L^-1 (n * block values, row-major) of every diagonal block L L^T, and bounds of the blocks' eigenvalues. `a`: a
/// BSR of such blocks, or a CSR made of them. Throws as above. Waits.
diagonal_range invert_diagonal_factors(const context& ctx, const block_arrays& a, index_t block, void* factors);

/// to = W A W^T, W being block diagonal, in the order of `a`.
void fold_symmetrically(const context& ctx, const block_arrays& a, index_t block, const void* factors, void* to);

/// to = D^-1/2 A D^-1/2, entry by entry in the order of `a` (a CSR, or a BSR whose blocks are whole): in the type of
/// the values, or in f32. D^1/2 is of the type of the values.
void scale_symmetrically(const context& ctx, const block_arrays& a, const void* roots, scalar_type to_type, void* to);

}  // namespace tulle::cuda
