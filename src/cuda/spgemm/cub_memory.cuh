// CUB's temporary memory, from the context.
#pragma once

#include <tulle/core/buffer.hpp>

#include "cuda/runtime/check.hpp"

namespace tulle::cuda {

/// Calls algorithm(memory, bytes) twice, as CUB wants: for the size, then to run.
template <class Algorithm>
void with_cub_memory(const context& ctx, const char* name, Algorithm algorithm) {
  std::size_t bytes = 0;
  check(algorithm(nullptr, bytes), name);
  buffer<unsigned char> memory(ctx, bytes);
  check(algorithm(memory.data(), bytes), name);
}

}  // namespace tulle::cuda
