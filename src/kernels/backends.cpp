#include "kernels/backends.hpp"

#include "core/device_limits.hpp"
#include "core/instantiate.hpp"
#include "kernels/inverse_blocks.hpp"

namespace tulle {
namespace {

// Where CUDA is not built nothing of it is defined, and what `if constexpr` discards is not asked for.
#ifdef TULLE_HAS_CUDA
constexpr bool has_cuda = true;
#else
constexpr bool has_cuda = false;
#endif

[[noreturn, maybe_unused]] void refuse_cuda() { throw error(status::unsupported, "this tulle was built without CUDA"); }

}  // namespace

device_runtime* cuda_runtime() noexcept {
  if constexpr (has_cuda) return &cuda::runtime();
  return nullptr;
}

device_limits limits_of_gpu([[maybe_unused]] int device) {
  if constexpr (has_cuda) return cuda::limits(device);
  return {};
}

std::span<const spmv_kernel> spmv_kernels(backend_kind backend) noexcept {
  if (backend == backend_kind::cpu) return cpu::spmv_table();
  if constexpr (has_cuda) return cuda::spmv_table();
  return {};
}

std::span<const spmv_kernel> spmv_transposed_kernels(backend_kind backend) noexcept {
  if (backend == backend_kind::cpu) return cpu::spmv_transposed_table();
  if constexpr (has_cuda) return cuda::spmv_transposed_table();
  return {};
}

std::span<const spgemm_kernel> spgemm_kernels(backend_kind backend) noexcept {
  if (backend == backend_kind::cpu) return cpu::spgemm_table();
  if constexpr (has_cuda) return cuda::spgemm_table();
  return {};
}

std::span<const sddmm_kernel> sddmm_kernels(backend_kind backend) noexcept {
  if (backend == backend_kind::cpu) return cpu::sddmm_table();
  if constexpr (has_cuda) return cuda::sddmm_table();
  return {};
}

std::span<const cg_kernel> cg_kernels_of(backend_kind backend) noexcept {
  if (backend == backend_kind::cpu) return cpu::cg_table();
  if constexpr (has_cuda) return cuda::cg_table();
  return {};
}

std::unique_ptr<batch_operator> make_cg_batch(const context& ctx, const batch_problem& problem) {
  if (ctx.backend() == backend_kind::cpu) return cpu::make_cg_batch(ctx, problem);
  if constexpr (has_cuda) return cuda::make_cg_batch(ctx, problem);
  refuse_cuda();
}

void judge_cg(const context& ctx, stream_view stream, const cg_judge& how, cg_moment when, cg_scalars* s) {
  if (ctx.backend() == backend_kind::cpu) return judge(how, when, *s);
  if constexpr (has_cuda) return cuda::judge_cg(ctx, stream, how, when, s);
  refuse_cuda();
}

void invert_diagonal_blocks(const context& ctx, const matrix_ref& a, index_t block, void* inverses) {
  if (ctx.backend() == backend_kind::cpu) return cpu::invert_diagonal_blocks(ctx, a, block, inverses);
  if constexpr (has_cuda) return cuda::invert_diagonal_blocks(ctx, a, block, inverses);
  refuse_cuda();
}

std::unique_ptr<inverse_blocks> make_inverse_blocks(const context& ctx, index_t n, index_t block, operation_types types,
                                                    bool narrows) {
  if (ctx.backend() == backend_kind::cpu) return cpu::make_inverse_blocks(ctx, n, block, types, narrows);
  if constexpr (has_cuda) return cuda::make_inverse_blocks(ctx, n, block, types, narrows);
  refuse_cuda();
}

void finish_many(const context& ctx, stream_view stream, scalar_type type, const strided_vectors& y, index_t rows,
                 const many_finish& finish) {
  if (ctx.backend() == backend_kind::cpu) return cpu::finish_many(ctx, stream, type, y, rows, finish);
  if constexpr (has_cuda) return cuda::finish_many(ctx, stream, type, y, rows, finish);
  refuse_cuda();
}

spgemm_work count_products(const context& ctx, const spgemm_problem& problem) {
  if (ctx.backend() == backend_kind::cpu) return cpu::count_products(ctx, problem);
  if constexpr (has_cuda) return cuda::count_products(ctx, problem);
  refuse_cuda();
}

const vector_kernels& vectors_of(backend_kind backend) {
  if (backend == backend_kind::cpu) return cpu::vectors();
  if constexpr (has_cuda) return cuda::vectors();
  refuse_cuda();
}

const block_pattern_kernels& block_patterns_of(backend_kind backend) {
  if (backend == backend_kind::cpu) return cpu::block_patterns();
  if constexpr (has_cuda) return cuda::block_patterns();
  refuse_cuda();
}

const matrix_kernels& matrices_of(backend_kind backend) {
  if (backend == backend_kind::cpu) return cpu::matrices();
  if constexpr (has_cuda) return cuda::matrices();
  refuse_cuda();
}

const further_kernels& further_kernels_of(backend_kind backend) {
  if (backend == backend_kind::cpu) return cpu::further_values();
  if constexpr (has_cuda) return cuda::further_values();
  refuse_cuda();
}

const reorder_kernels& reorders_of(backend_kind backend) {
  if (backend == backend_kind::cpu) return cpu::reorders();
  if constexpr (has_cuda) return cuda::reorders();
  refuse_cuda();
}

template <scalar T, offset O>
const format_kernels<T, O>& formats_of(backend_kind backend) {
  if (backend == backend_kind::cpu) return cpu::formats<T, O>();
  if constexpr (has_cuda) return cuda::formats<T, O>();
  refuse_cuda();
}

#define TULLE_INSTANTIATE(T, O) template const format_kernels<T, O>& formats_of<T, O>(backend_kind);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle
