// The backend that the options name, and its kernels.
#pragma once

#include <tulle/core/context.hpp>
#include <tulle/ops/kernels.hpp>

#include "options.hpp"

namespace tulle::cli {

/// Throws device_error when that is a GPU that cannot be used, and INVALID_ARGUMENT for --device where the CPU runs.
context make_context(const run_options& o);
/// The backends that can run here: the CPU, and CUDA where there is a usable device.
std::vector<context> usable_contexts(const run_options& o);
/// The kernels of an operation; for y = A^T x those that read A as it is, then those of y = A x, which get a CSR of
/// A^T.
std::vector<kernel_info> kernels_of(backend_kind backend, kernel_operation operation);

/// Throws INVALID_ARGUMENT where a name that is not empty is none of a kernel for the operation, and names those there
/// are.
void require_kernel(backend_kind backend, kernel_operation operation, std::string_view kernel);

}  // namespace tulle::cli
