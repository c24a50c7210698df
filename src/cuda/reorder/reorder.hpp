// The device implementations of kernels/reorder.hpp; table.cpp lists them. The context's device must be current.
#pragma once

#include "kernels/reorder.hpp"

namespace tulle::cuda {

std::int64_t take_order(const context& ctx, const permutation_ref& from, index_t* order, index_t* inverse);
bool is_symmetric_pattern(const context& ctx, const matrix_ref& a);
bool reverse_cuthill_mckee(const context& ctx, const matrix_ref& a, index_t* order);
entry_map permute_entries(const context& ctx, const matrix_ref& a, const matrix_order& order);
void gather_vectors(const vector_move& move, const strided_vectors& x, double beta, const strided_vectors& y);
void split_order(const context& ctx, const index_t* from, index_t n, index_t span, index_t* source, index_t* place);
void row_columns(const context& ctx, const matrix_ref& a, const index_t* rows, index_t count, index_t most,
                 index_t* columns);

}  // namespace tulle::cuda
