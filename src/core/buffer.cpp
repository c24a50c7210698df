#include <tulle/core/buffer.hpp>

#include <cstring>

#include "core/device_runtime.hpp"

namespace tulle {

void copy_bytes(const context& ctx, void* to, memory_space to_space, const void* from, memory_space from_space,
                std::size_t bytes) {
  if (bytes == 0) return;
  if (to_space == memory_space::host && from_space == memory_space::host) {
    std::memcpy(to, from, bytes);
    return;
  }
  if (cuda_runtime() == nullptr) {
    throw error(status::unsupported, "device memory cannot be copied: this tulle was built without CUDA");
  }
  if (ctx.backend() == backend_kind::cpu) return cuda_runtime()->copy_after_all(to, to_space, from, from_space, bytes);
  cuda_runtime()->copy(ctx.device(), ctx.stream(), to, to_space, from, from_space, bytes);
}

void fill_bytes(const context& ctx, void* to, memory_space space, unsigned char value, std::size_t bytes) {
  if (bytes == 0) return;
  if (space == memory_space::host) {
    std::memset(to, value, bytes);
    return;
  }
  if (ctx.backend() != backend_kind::cuda) {
    throw error(status::invalid_argument, "a CPU context cannot fill device memory: use the CUDA context that owns it");
  }
  cuda_runtime()->fill(ctx.device(), ctx.stream(), to, value, bytes);
}

}  // namespace tulle
