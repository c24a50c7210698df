// The CPU SpGEMM kernels: a declaration and a line each.
#include "core/backends.hpp"

namespace tulle::cpu {

std::span<const spgemm_kernel> spgemm_table() { return {}; }

}  // namespace tulle::cpu
