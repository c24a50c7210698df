#include "kernels/backends.hpp"

#include "core/instantiate.hpp"

namespace tulle {

#ifdef TULLE_HAS_CUDA
device_runtime* cuda_runtime() noexcept { return &cuda::runtime(); }
#else
device_runtime* cuda_runtime() noexcept { return nullptr; }
#endif

std::span<const spmv_kernel> spmv_kernels(backend_kind backend) noexcept {
  if (backend == backend_kind::cpu) return cpu::spmv_table();
#ifdef TULLE_HAS_CUDA
  return cuda::spmv_table();
#else
  return {};
#endif
}

std::span<const spmv_kernel> spmv_transposed_kernels(backend_kind backend) noexcept {
  if (backend == backend_kind::cpu) return cpu::spmv_transposed_table();
#ifdef TULLE_HAS_CUDA
  return cuda::spmv_transposed_table();
#else
  return {};
#endif
}

std::span<const spgemm_kernel> spgemm_kernels(backend_kind backend) noexcept {
  if (backend == backend_kind::cpu) return cpu::spgemm_table();
#ifdef TULLE_HAS_CUDA
  return cuda::spgemm_table();
#else
  return {};
#endif
}

spgemm_work count_products(const context& ctx, const spgemm_problem& problem) {
  if (ctx.backend() == backend_kind::cpu) return cpu::count_products(ctx, problem);
#ifdef TULLE_HAS_CUDA
  return cuda::count_products(ctx, problem);
#else
  throw error(status::unsupported, "this tulle was built without CUDA");
#endif
}

const vector_kernels& vectors_of(backend_kind backend) {
  if (backend == backend_kind::cpu) return cpu::vectors();
#ifdef TULLE_HAS_CUDA
  return cuda::vectors();
#else
  throw error(status::unsupported, "this tulle was built without CUDA");
#endif
}

const matrix_kernels& matrices_of(backend_kind backend) {
  if (backend == backend_kind::cpu) return cpu::matrices();
#ifdef TULLE_HAS_CUDA
  return cuda::matrices();
#else
  throw error(status::unsupported, "this tulle was built without CUDA");
#endif
}

template <scalar T, offset O>
const format_kernels<T, O>& formats_of(backend_kind backend) {
  if (backend == backend_kind::cpu) return cpu::formats<T, O>();
#ifdef TULLE_HAS_CUDA
  return cuda::formats<T, O>();
#else
  throw error(status::unsupported, "this tulle was built without CUDA");
#endif
}

#define TULLE_INSTANTIATE(T, O) template const format_kernels<T, O>& formats_of<T, O>(backend_kind);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle
