// The CUDA kernels of C = A o (U V^T).
#include "kernels/backends.hpp"

namespace tulle::cuda {

sddmm_kernel csr_dots_entry(), cusparse_sddmm_entry();

std::span<const sddmm_kernel> sddmm_table() {
  static const sddmm_kernel table[] = {csr_dots_entry(), cusparse_sddmm_entry()};
  return table;
}

}  // namespace tulle::cuda
