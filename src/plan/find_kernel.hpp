// Kernels by name.
#pragma once

#include <string>
#include <string_view>

#include "kernels/spmv.hpp"

namespace tulle {

/// The table entry of that name, built for those types. Throws INVALID_ARGUMENT listing the names there are.
const spmv_kernel& find_spmv_kernel(backend_kind backend, std::string_view name, const operation_types& types);

/// The same, or null where there is none.
const spmv_kernel* spmv_kernel_for(backend_kind backend, std::string_view name, const operation_types& types);

/// For messages: "f64 values", or "f32 values under f64 vectors".
std::string describe(const operation_types& types);
/// For keys and names: "f64.i32", or "f32_f64.i32" where the vectors are of another type.
std::string types_label(const operation_types& types);

/// The kernel that multiplies by A^T and takes the CSR of A where it is.
const spmv_kernel& transposing_kernel(backend_kind backend);

/// The kernel asked for: what the option says, or else what TULLE_KERNEL says unless that is a kernel of the other
/// operation; "" where none is.
std::string requested_kernel(kernel_operation what, backend_kind backend, const std::string& option);

}  // namespace tulle
