// Kernels by name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/spmv.hpp"

namespace tulle {

/// The table entry of that name and type. Throws INVALID_ARGUMENT listing the names there are.
const spmv_kernel& find_spmv_kernel(backend_kind backend, std::string_view name, type_key types);

/// The kernel that multiplies by A^T and takes the CSR of A where it is.
const spmv_kernel& transposing_kernel(backend_kind backend);

enum class kernel_operation : std::uint8_t { spmv, spgemm };

/// The kernel asked for: what the option says, or else what TULLE_KERNEL says unless that is a kernel of the other
/// operation; "" where none is.
std::string requested_kernel(kernel_operation what, backend_kind backend, const std::string& option);

}  // namespace tulle
