// The backend that the options name.
#pragma once

#include <tulle/core/context.hpp>

#include "options.hpp"

namespace tulle::cli {

/// Throws device_error when that is a GPU that cannot be used, and INVALID_ARGUMENT for --device where the CPU runs.
context make_context(const run_options& o);
/// The backends that can run here: the CPU, and CUDA where there is a usable device.
std::vector<context> usable_contexts(const run_options& o);

}  // namespace tulle::cli
