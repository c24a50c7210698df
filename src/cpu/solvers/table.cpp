// Solvers that the CPU has beside the loop of operations, in the order in which they are tried.
#include "kernels/backends.hpp"

namespace tulle::cpu {

cg_kernel cg_fused_entry();

std::span<const cg_kernel> cg_table() {
  static const cg_kernel table[] = {cg_fused_entry()};
  return table;
}

}  // namespace tulle::cpu
