// The operations of kernels/matrix.hpp on values of further types; values.cu and add.cu hand these on.
#pragma once

#include "kernels/matrix.hpp"

namespace tulle::cuda {

void map_further_values(const context& ctx, const value_map& m);
/// As add_values of kernels/matrix.hpp.
void add_further_values(const context& ctx, double alpha, const matrix_ref& a, double beta, const matrix_ref& b,
                        const matrix_ref& c, void* values);
void further_diagonal(const context& ctx, const matrix_ref& a, void* out, std::int64_t stride);
void scale_further_values(const context& ctx, const matrix_ref& a, const value_scaling& how, void* values);
void fill_ones(const context& ctx, scalar_type type, std::int64_t count, void* values);

}  // namespace tulle::cuda
