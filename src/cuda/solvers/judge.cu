// Decides from the scalars of conjugate gradients where they are: one thread.
#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/launch.cuh"
#include "cuda/solvers/solvers.hpp"

namespace tulle::cuda {
namespace {

__global__ void judge_kernel(const __grid_constant__ cg_judge how, cg_moment when, cg_scalars* s) {
  judge(how, when, *s);
}

}  // namespace

void judge_cg(const context& ctx, stream_view stream, const cg_judge& how, cg_moment when, cg_scalars* s) {
  const device_guard guard(ctx.device());
  launch("judge", judge_kernel, {1, 1}, native(stream), how, when, s);
}

}  // namespace tulle::cuda
