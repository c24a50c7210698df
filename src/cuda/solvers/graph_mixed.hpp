// cg.graph in mixed precision.
#pragma once

#include "kernels/cg.hpp"

namespace tulle::cuda {

/// Iterates in f32 and corrects x in f64: Jacobi's preconditioner or none. What f32 does not finish it leaves.
std::unique_ptr<cg_operator> make_graph_mixed(const context& ctx, const cg_problem& problem);

}  // namespace tulle::cuda
