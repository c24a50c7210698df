// The entries of A B that a mask names: see masked.cu.
#pragma once

#include <memory>
#include <tulle/core/context.hpp>

#include "kernels/spgemm.hpp"

namespace tulle::cuda {

std::unique_ptr<spgemm_operator> make_masked_spgemm(const context& ctx, const spgemm_problem& p);

}  // namespace tulle::cuda
