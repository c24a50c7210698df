// The contract of tulle/ops/once.hpp with the CPU: arguments are checked, X and Y are row-major.
#pragma once

#include <algorithm>
#include <tulle/ops/once.hpp>

#include "kernels/spmv.hpp"

namespace tulle::cpu {

/// Rows begin .. end - 1 of Y become 0.
template <class N>
inline void set_zero(const strided_vectors& y, std::int64_t begin, std::int64_t end) {
  auto* const to = static_cast<N*>(y.data);
  if (begin >= end || y.count == 0) return;
  if (y.row_stride == y.count) return void(std::fill(to + begin * y.count, to + end * y.count, N::zero()));
  for (std::int64_t i = begin; i < end; ++i) std::fill_n(to + i * y.row_stride, y.count, N::zero());
}

void apply_coo(const matrix_ref& a, const strided_vectors& x, const strided_vectors& y);
void apply_diagonals(const context& ctx, const diagonals_ref& a, const strided_vectors& x, const strided_vectors& y);
void apply_blocks(const context& ctx, const blocks_ref& a, const strided_vectors& x, const strided_vectors& y);
block_matrix multiply_blocks(const context& ctx, const blocks_ref& a, const blocks_ref& b);
/// Of C = A B, counted to just above `most`.
std::int64_t count_products(const matrix_ref& a, const matrix_ref& b, std::int64_t most);
block_matrix multiply_rows(const context& ctx, const matrix_ref& a, const matrix_ref& b, std::int64_t products);
diagonal_matrix multiply_diagonals(const context& ctx, const diagonals_ref& a, const diagonals_ref& b);

}  // namespace tulle::cpu
