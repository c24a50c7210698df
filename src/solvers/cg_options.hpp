// The options of conjugate gradients, checked and filled in.
#pragma once

#include <tulle/core/context.hpp>
#include <tulle/formats/matrix_ref.hpp>
#include <tulle/solvers/cg.hpp>

namespace tulle::detail {

/// Of a matrix in blocks, else 0.
index_t given_block(const matrix_ref& a);

/// No 0 stands for "chosen" any more. `a` is the matrix as it came; of an operator it has no block. Throws
/// INVALID_ARGUMENT, naming the option.
cg_options filled_in(cg_options options, const context& ctx, const matrix_ref& a);

}  // namespace tulle::detail
