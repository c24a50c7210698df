// Solvers that the CUDA backend has beside the loop of operations, in the order in which they are tried.
#include "kernels/backends.hpp"

namespace tulle::cuda {

cg_kernel cg_cluster_entry(), cg_persistent_entry(), cg_graph_entry();

std::span<const cg_kernel> cg_table() {
  static const cg_kernel table[] = {cg_cluster_entry(), cg_persistent_entry(), cg_graph_entry()};
  return table;
}

}  // namespace tulle::cuda
