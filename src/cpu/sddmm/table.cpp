// The CPU kernels of C = A o (U V^T).
#include "kernels/backends.hpp"

namespace tulle::cpu {

sddmm_kernel csr_dots_entry();

std::span<const sddmm_kernel> sddmm_table() {
  static const sddmm_kernel table[] = {csr_dots_entry()};
  return table;
}

}  // namespace tulle::cpu
