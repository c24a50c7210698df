// cg.operations: conjugate gradients as a loop of operations on any backend.
#pragma once

#include "kernels/cg.hpp"

namespace tulle::detail {

/// Names the kernel of the plan that the iteration applies, where that is not left to the plan: on a CPU one that cuts
/// no row between threads and adds the entries of a row in their order, so that the number of threads does not show in
/// the bits. And whether chebyshev multiplies by high words.
void choose_plan_kernel(const context& ctx, cg_problem& problem);

cg_kernel cg_operations_entry(backend_kind backend);

/// The same for operators that are no matrices.
std::unique_ptr<cg_operator> cg_of_operators(const linear_operator& a, const linear_operator* m,
                                             const cg_options& options);

}  // namespace tulle::detail
