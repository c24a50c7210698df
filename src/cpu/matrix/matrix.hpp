// The CPU's implementations of kernels/matrix.hpp; table.cpp lists them.
#pragma once

#include <algorithm>

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

/// As many threads as are worth waking for so many rows and entries.
inline int matrix_threads(const context& ctx, std::int64_t work) {
  constexpr std::int64_t work_per_thread = 1 << 14;
  return static_cast<int>(std::clamp<std::int64_t>(work / work_per_thread, 1, ctx.threads()));
}

}  // namespace tulle::cpu
