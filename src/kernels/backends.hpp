// Joins the backends' tables: the one place that knows which backends are built.
#pragma once

#include <span>

#include "core/device_runtime.hpp"
#include "kernels/block_pattern.hpp"
#include "kernels/cg.hpp"
#include "kernels/cg_batch.hpp"
#include "kernels/cg_step.hpp"
#include "kernels/formats.hpp"
#include "kernels/further_values.hpp"
#include "kernels/matrix.hpp"
#include "kernels/reorder.hpp"
#include "kernels/sddmm.hpp"
#include "kernels/spgemm.hpp"
#include "kernels/spmv.hpp"
#include "kernels/vector.hpp"

namespace tulle {

namespace cpu {
template <scalar T, offset O>
const format_kernels<T, O>& formats();
std::span<const spmv_kernel> spmv_table();
std::span<const spmv_kernel> spmv_transposed_table();
std::span<const spgemm_kernel> spgemm_table();
std::span<const sddmm_kernel> sddmm_table();
spgemm_work count_products(const context& ctx, const spgemm_problem& problem);
const block_pattern_kernels& block_patterns();
const matrix_kernels& matrices();
const further_kernels& further_values();
const reorder_kernels& reorders();
const vector_kernels& vectors();
std::span<const cg_kernel> cg_table();
std::unique_ptr<batch_operator> make_cg_batch(const context& ctx, const batch_problem& problem);
void invert_diagonal_blocks(const context& ctx, const matrix_ref& a, index_t block, void* inverses);
void finish_many(const context& ctx, stream_view stream, scalar_type type, const strided_vectors& y, index_t rows,
                 const many_finish& finish);
}  // namespace cpu

namespace cuda {
template <scalar T, offset O>
const format_kernels<T, O>& formats();
std::span<const spmv_kernel> spmv_table();
std::span<const spmv_kernel> spmv_transposed_table();
std::span<const spgemm_kernel> spgemm_table();
std::span<const sddmm_kernel> sddmm_table();
spgemm_work count_products(const context& ctx, const spgemm_problem& problem);
const block_pattern_kernels& block_patterns();
const matrix_kernels& matrices();
const further_kernels& further_values();
const reorder_kernels& reorders();
const vector_kernels& vectors();
std::span<const cg_kernel> cg_table();
std::unique_ptr<batch_operator> make_cg_batch(const context& ctx, const batch_problem& problem);
void judge_cg(const context& ctx, stream_view stream, const cg_judge& how, cg_moment when, cg_scalars* s);
void invert_diagonal_blocks(const context& ctx, const matrix_ref& a, index_t block, void* inverses);
void finish_many(const context& ctx, stream_view stream, scalar_type type, const strided_vectors& y, index_t rows,
                 const many_finish& finish);
device_runtime& runtime();
}  // namespace cuda

/// Empty when the backend is not built.
std::span<const spmv_kernel> spmv_kernels(backend_kind backend) noexcept;

/// Kernels whose operators take the CSR of A and compute y = alpha A^T x + beta y: x has rows elements, y has cols.
std::span<const spmv_kernel> spmv_transposed_kernels(backend_kind backend) noexcept;

std::span<const spgemm_kernel> spgemm_kernels(backend_kind backend) noexcept;

std::span<const sddmm_kernel> sddmm_kernels(backend_kind backend) noexcept;

/// The backend's own, without the loop of operations, which cg_kernels has as well.
std::span<const cg_kernel> cg_kernels_of(backend_kind backend) noexcept;
/// Throws UNSUPPORTED for a system that is too large.
std::unique_ptr<batch_operator> make_cg_batch(const context& ctx, const batch_problem& problem);
/// `judge` of kernels/cg_step.hpp where the scalars are, in stream order.
void judge_cg(const context& ctx, stream_view stream, const cg_judge& how, cg_moment when, cg_scalars* s);

/// The inverses of the diagonal blocks of a sorted CSR, one after the other, row by row; the last block may have fewer rows.
/// Throws INDEFINITE naming the first that is not positive definite: one that the matrix lacks is not; NaN passes through.
void invert_diagonal_blocks(const context& ctx, const matrix_ref& a, index_t block, void* inverses);

/// Y = act(Y + 1 b^T) for vectors of `rows` f32 or f64: an epilogue in a pass of its own. Neither allocates nor synchronises.
void finish_many(const context& ctx, stream_view stream, scalar_type type, const strided_vectors& y, index_t rows,
                 const many_finish& finish);

/// What the problem amounts to, counted on the context's backend. Waits for the result.
spgemm_work count_products(const context& ctx, const spgemm_problem& problem);

/// Throws UNSUPPORTED when the backend is not built.
const block_pattern_kernels& block_patterns_of(backend_kind backend);

/// Throws UNSUPPORTED when the backend is not built.
const matrix_kernels& matrices_of(backend_kind backend);

/// Throws UNSUPPORTED when the backend is not built.
const reorder_kernels& reorders_of(backend_kind backend);

/// Throws UNSUPPORTED when the backend is not built.
const vector_kernels& vectors_of(backend_kind backend);

/// Throws UNSUPPORTED when the backend is not built.
template <scalar T, offset O>
const format_kernels<T, O>& formats_of(backend_kind backend);

}  // namespace tulle
