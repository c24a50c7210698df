// Joins the backends' tables: the one place that knows which backends are built.
#pragma once

#include <span>

#include "kernels/formats.hpp"
#include "kernels/runtime.hpp"
#include "kernels/spmv.hpp"

namespace tulle {

namespace cpu {
template <scalar T, offset O>
const format_kernels<T, O>& formats();
std::span<const spmv_kernel> spmv_table();
std::span<const spmv_kernel> spmv_transposed_table();
}  // namespace cpu

namespace cuda {
template <scalar T, offset O>
const format_kernels<T, O>& formats();
std::span<const spmv_kernel> spmv_table();
std::span<const spmv_kernel> spmv_transposed_table();
device_runtime& runtime();
}  // namespace cuda

/// Null when CUDA is not built.
device_runtime* cuda_runtime() noexcept;

/// Empty when the backend is not built.
std::span<const spmv_kernel> spmv_kernels(backend_kind backend) noexcept;

/// Kernels whose operators take the CSR of A and compute y = alpha A^T x + beta y: x has rows elements, y has cols.
std::span<const spmv_kernel> spmv_transposed_kernels(backend_kind backend) noexcept;

/// Throws UNSUPPORTED when the backend is not built.
template <scalar T, offset O>
const format_kernels<T, O>& formats_of(backend_kind backend);

}  // namespace tulle
