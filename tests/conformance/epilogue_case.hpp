// What solvers want from the same pass over the matrix: dot products with y, and a step of Jacobi's method.
#pragma once

#include "conformance/spmv_case.hpp"

namespace tulle::test {

/// Whether choose_spmv may pick the kernel: then it must have both.
bool must_have_epilogues(const spmv_kernel& kernel);

/// apply_dots: y as apply_and_check holds it, w . y and y . y within gamma(rows + 2) of the sum of absolute values,
/// for several alpha and beta. Skipped where the kernel has none and need not.
void run_dots_case(const context& ctx, const spmv_case& c);

/// apply_jacobi on a square matrix: x + omega D^-1 (b - A x), row by row within the bound of b - A x and three
/// roundings more.
void run_jacobi_case(const context& ctx, const spmv_case& c);

}  // namespace tulle::test
