// Solvers that the CPU has beside the loop of operations, in the order in which they are tried.
#include "kernels/backends.hpp"

namespace tulle::cpu {

std::span<const cg_kernel> cg_table() { return {}; }

}  // namespace tulle::cpu
