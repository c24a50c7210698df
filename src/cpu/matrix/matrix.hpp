// The CPU's implementations of kernels/matrix.hpp; table.cpp lists them.
#pragma once

#include "core/parallel.hpp"
#include "kernels/matrix.hpp"

namespace tulle::cpu {

buffer<pattern_counts> inspect_patterns(const context& ctx, std::span<const matrix_ref> patterns);
entry_map select_entries(const context& ctx, const matrix_ref& a, const entry_selection& what);
entry_map add_patterns(const context& ctx, const matrix_ref& a, const matrix_ref& b);
void add_values(const context& ctx, double alpha, const matrix_ref& a, double beta, const matrix_ref& b,
                const matrix_ref& c, void* values);
void map_values(const context& ctx, const value_map& map);
void diagonal(const context& ctx, const matrix_ref& a, void* out, std::int64_t stride);
void scale_values(const context& ctx, const matrix_ref& a, const value_scaling& how, void* values);
void fill_identity(const context& ctx, index_t n, type_key types, void* rowptr, index_t* colind, void* values);

}  // namespace tulle::cpu
