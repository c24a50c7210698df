// CUB's temporary memory, from the context.
#pragma once

#include <algorithm>
#include <cstddef>
#include <tulle/core/buffer.hpp>

#include "cuda/runtime/check.hpp"

namespace tulle::cuda {

/// Calls algorithm(workspace, bytes) twice, as CUB wants: for the size, then to run.
template <class Algorithm>
void with_workspace(const context& ctx, const char* name, Algorithm algorithm) {
  std::size_t bytes = 0;
  check(algorithm(nullptr, bytes), name, status::kernel_launch);
  buffer<std::byte> workspace(ctx, std::max<std::size_t>(bytes, 1));
  check(algorithm(workspace.data(), bytes), name, status::kernel_launch);
}

}  // namespace tulle::cuda
