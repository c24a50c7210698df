// Columns of C where few matrices have any.
#pragma once

#include <tulle/core/context.hpp>

#include "kernels/spgemm.hpp"
#include "spgemm/operands.hpp"

namespace tulle::test {

/// C, moved to columns up to `cols`, must be C: the same offsets, its columns moved, the same bits.
void run_far_columns(const context& ctx, const spgemm_kernel& kernel, const operands& pair, index_t cols);

}  // namespace tulle::test
