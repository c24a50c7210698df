// cg_options::precision = mixed: a kernel that iterates in f32 and corrects x in f64, and the same kernel in f64 for
// what f32 does not finish.
#pragma once

#include "kernels/cg.hpp"

namespace tulle::detail {

/// Throws UNSUPPORTED where the problem cannot be solved so.
void check_mixed(const cg_problem& problem);

/// `kernel` takes it.
std::unique_ptr<cg_operator> make_cg_mixed(const context& ctx, const cg_problem& problem, const cg_kernel& kernel);

}  // namespace tulle::detail
