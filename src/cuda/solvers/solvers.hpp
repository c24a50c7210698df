// The solvers of the CUDA backend.
#pragma once

#include "kernels/cg.hpp"
#include "kernels/cg_step.hpp"

namespace tulle::cuda {

void judge_cg(const context& ctx, stream_view stream, const cg_judge& how, cg_moment when, cg_scalars* s);

}  // namespace tulle::cuda
