// What is of a GPU's own in the loop in time. Defined where CUDA is built.
#pragma once

#include "loop.hpp"

namespace cardiac {

/// By kernels of its own on the library's packed rows: step.cuh.
std::unique_ptr<loop> make_gpu_loop(const tulle::context& ctx, const tulle::csr<double>& a);

/// u: diffused; afterwards, after the step.
void react_on_gpu(const tulle::context& ctx, const reaction& all, tulle::buffer<double>& u,
                  const tulle::buffer<double>& before);

}  // namespace cardiac
