// cg.operations: conjugate gradients as a loop of operations on any backend.
#pragma once

#include "kernels/cg.hpp"

namespace tulle::detail {

cg_kernel cg_operations_entry(backend_kind backend);

/// The same for operators that are no matrices.
std::unique_ptr<cg_operator> cg_of_operators(const linear_operator& a, const linear_operator* m,
                                             const cg_options& options);

}  // namespace tulle::detail
