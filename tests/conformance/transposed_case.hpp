// y = alpha A^T x + beta y: kernels that read the CSR of A, and plans that convert it.
#pragma once

#include "conformance/spmv_case.hpp"

namespace tulle::test {

/// A kernel of spmv_transposed_kernels for all alpha and beta, then with other values: held to the error bound of A^T,
/// and to the same bits where the kernel promises them (not in floating point on CUDA).
void run_transposed_case(const context& ctx, const spmv_case& c);

/// A plan that was asked for A^T and nothing else, and one for each effort, on one matrix.
void run_transposed_plan_case(const context& ctx, type_key types, const battery_matrix& matrix);

}  // namespace tulle::test
