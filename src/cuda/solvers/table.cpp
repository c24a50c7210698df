// Solvers that the CUDA backend has beside the loop of operations, in the order in which they are tried.
#include "kernels/backends.hpp"

namespace tulle::cuda {

std::span<const cg_kernel> cg_table() { return {}; }

}  // namespace tulle::cuda
