// The operations of kernels/matrix.hpp on values of further types; values.cu hands these on. Sums of two matrices,
// scaled rows and diagonals are not among them: UNSUPPORTED.
#pragma once

#include "kernels/matrix.hpp"

namespace tulle::cuda {

void map_further_values(const context& ctx, const value_map& m);
void fill_ones(const context& ctx, scalar_type type, std::int64_t count, void* values);

}  // namespace tulle::cuda
