// Launching kernels that walk their items with a grid-stride loop, and reading single results back.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <tulle/core/buffer.hpp>
#include <tulle/core/context.hpp>

#include "cuda/runtime/check.hpp"
#include "cuda/runtime/stream.hpp"

namespace tulle::cuda {

constexpr int block_threads = 256;

__host__ __device__ constexpr std::int64_t blocks_for(std::int64_t items, std::int64_t items_a_block = block_threads) {
  return (items + items_a_block - 1) / items_a_block;
}

/// Runs `kernel` on at most `blocks` blocks of `threads` threads, and no more than fill the device twice; nothing when
/// there is no work. The context's device must be current.
template <class... Parameters, class... Args>
void launch_blocks(const context& ctx, const char* name, void (*kernel)(Parameters...), std::int64_t blocks,
                   int threads, const Args&... args) {
  if (blocks == 0) return;
  const std::int64_t most = std::int64_t{ctx.info().multiprocessors} * (4096 / threads);
  kernel<<<static_cast<unsigned>(std::min(blocks, most)), threads, 0, native(ctx.stream())>>>(args...);
  check_launch(name);
}

/// One thread an item, as far as the bounded grid goes.
template <class... Parameters, class... Args>
void launch_items(const context& ctx, const char* name, void (*kernel)(Parameters...), std::int64_t items,
                  const Args&... args) {
  launch_blocks(ctx, name, kernel, blocks_for(items), block_threads, args...);
}

/// Waits for the stream.
template <class T>
T read_back(const context& ctx, const T* device) {
  T value;
  copy_bytes(ctx, &value, memory_space::host, device, memory_space::device, sizeof(T));
  return value;
}

/// One T on the device with every byte set to `byte`.
template <class T>
buffer<T> device_value(const context& ctx, unsigned char byte = 0) {
  buffer<T> value(ctx, 1);
  fill_bytes(ctx, value.data(), memory_space::device, byte, sizeof(T));
  return value;
}

/// First item and step of a grid-stride loop.
__device__ inline std::int64_t first_item() { return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ inline std::int64_t item_step() { return std::int64_t{gridDim.x} * blockDim.x; }

}  // namespace tulle::cuda
