// Reverse Cuthill-McKee wherever a matrix is.
#pragma once

#include <tulle/core/context.hpp>
#include <tulle/formats/matrix_ref.hpp>
#include <tulle/ops/permutation.hpp>

namespace tulle::detail {

/// Of a symmetric pattern in the memory of the context, on the CPU where the device leaves it to that: the order is the
/// same.
permutation cuthill_mckee(const context& ctx, const matrix_ref& symmetric);

}  // namespace tulle::detail
