// The values of block patterns; see kernels/block_pattern.hpp.
#pragma once

#include "kernels/block_pattern.hpp"

namespace tulle::cuda {

void assemble_bsr(const context& ctx, const block_pattern& pattern, scalar_type type, const void* from, void* to);
void assemble_bins(const context& ctx, const block_pattern& pattern, scalar_type type, const void* from, void* to);

}  // namespace tulle::cuda
