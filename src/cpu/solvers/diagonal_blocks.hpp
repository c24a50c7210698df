// The inverses of diagonal blocks, and their condition numbers.
#pragma once

#include <tulle/core/context.hpp>
#include <tulle/formats/matrix_ref.hpp>

namespace tulle::cpu {

/// As invert_diagonal_blocks of kernels/backends.hpp. `condition`: kappa_1 of every block, or null.
void invert_diagonal_blocks(const context& ctx, const matrix_ref& a, index_t block, void* inverses, double* condition);

}  // namespace tulle::cpu
