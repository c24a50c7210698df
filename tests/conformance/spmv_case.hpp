// One kernel on one matrix of the battery, for one combination of types: the test bodies of both backends.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "kernels/spmv.hpp"
#include "support/battery.hpp"

namespace tulle::test {

struct spmv_case {
  const spmv_kernel* kernel = nullptr;
  operation_types types = type_key_of<double, std::int32_t>;
  const battery_matrix* matrix = nullptr;
  spmv_options options = {};
  std::string options_text = {};  // "sigma=32", or empty
  bool reordered = false;         // the kernel inside a plan that keeps rows and columns in another order

  /// "cuda/csr.merge/f64.i32/rmat"; "f32_f64.i32" where the vectors are of another type.
  [[nodiscard]] std::string name() const;
};

/// y = alpha A x + beta y for all alpha and beta, twice each, then with other values: held to the error bound.
void run_spmv_case(const context& ctx, const spmv_case& c);

/// The same with values in fewer bits, held to the bound with what options.values promises; and that bits were left out where
/// the matrix and the promise let them be.
void run_promise_case(const context& ctx, const spmv_case& c);

/// The same with options.high_words: the bits of the kernel without, and by the high words the bound with 2^-21 of each
/// value.
void run_high_words_case(const context& ctx, const spmv_case& c);

/// Y = alpha A X + beta Y for 1, 2, 3, 8 and 17 vectors, row-major, column-major and mixed, with room between rows or
/// vectors that nobody may touch: every vector is held to the error bound, and to the same bits in a second run.
/// Skipped where the kernel has no apply_many and need not.
void run_many_case(const context& ctx, const spmv_case& c);

/// apply_dots: y as apply_and_check holds it, w . y and y . y within gamma(rows + 2) of the sum of absolute values,
/// for several alpha and beta. Skipped where the kernel has none and need not.
void run_dots_case(const context& ctx, const spmv_case& c);
/// apply_jacobi on a square matrix: x + omega D^-1 (b - A x), row by row within the bound of b - A x and three
/// roundings more.
void run_jacobi_case(const context& ctx, const spmv_case& c);

/// Rows stored in a random order: the bits of every pass are those of rows where they are. Skipped where the kernel
/// stores them in no order.
void run_order_case(const context& ctx, const spmv_case& c);
/// What a plan in another order does, as a kernel is called.
std::unique_ptr<spmv_operator> make_reordered(const context& ctx, const matrix_ref& a, const spmv_case& c);

/// A kernel of spmv_transposed_kernels for all alpha and beta, then with other values: held to the error bound of A^T,
/// and to the same bits where the kernel promises them (not in floating point on CUDA).
void run_transposed_case(const context& ctx, const spmv_case& c);
/// A plan that was asked for A^T and nothing else, and one for each effort, on one matrix.
void run_transposed_plan_case(const context& ctx, type_key types, const battery_matrix& matrix);

/// Every CUDA kernel on a matrix of 2.28e9 nonzeros (f32 values, 64-bit offsets), every row checked. Skips where the
/// device has less than 100 GB or the host less than 28 GB.
void run_past_2_31(const context& ctx);

}  // namespace tulle::test
