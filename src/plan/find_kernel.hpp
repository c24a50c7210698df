// Kernels by name, and the one that needs no set-up.
#pragma once

#include <string_view>

#include "kernels/spmv.hpp"

namespace tulle {

/// The table entry of that name and type. Throws INVALID_ARGUMENT listing the names there are.
const spmv_kernel& find_spmv_kernel(backend_kind backend, std::string_view name, type_key types);

/// The kernel that takes every CSR where it is and learns nothing about it first: csr.balanced; csr.stream (csr.merge
/// in a build without it).
const spmv_kernel& kernel_without_set_up(backend_kind backend);

/// Whether the kernel has to see the statistics before it takes a matrix, as those that convert or stage do.
bool needs_statistics(const spmv_kernel& kernel);

}  // namespace tulle
