// Launching kernels: a launch is checked and named in the error, whichever operation makes it.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tulle/core/context.hpp>

#include "cuda/device/grid.cuh"
#include "cuda/runtime/check.hpp"
#include "cuda/runtime/stream.hpp"

namespace tulle::cuda {

__host__ __device__ constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Threads per block where nothing else is said.
constexpr int block_threads = 256;

struct launch_shape {
  std::int64_t blocks;
  int threads = block_threads;   // per block
  std::size_t shared_bytes = 0;  // dynamic shared memory per block
  std::int64_t panels = 1;       // blocks along y
};

/// One thread per item.
constexpr launch_shape threads_for(std::int64_t items, int threads = block_threads, std::size_t shared_bytes = 0) {
  return {ceil_div(items, threads), threads, shared_bytes};
}

/// For grid-stride loops over work for so many blocks: no more blocks than fill the device twice.
inline launch_shape bounded(const context& ctx, launch_shape shape) {
  shape.blocks = std::min(shape.blocks, std::int64_t{ctx.info().multiprocessors} * (4096 / shape.threads));
  return shape;
}

/// Runs `kernel`; does nothing when there are no blocks. The stream's device must be current.
template <class... Parameters, class... Args>
void launch(const char* name, void (*kernel)(Parameters...), launch_shape shape, cudaStream_t stream,
            const Args&... args) {
  if (shape.blocks == 0 || shape.panels == 0) return;
  const dim3 grid(static_cast<unsigned>(shape.blocks), static_cast<unsigned>(shape.panels));
  kernel<<<grid, shape.threads, shape.shared_bytes, stream>>>(args...);
  check_launch(name);
}

/// The same for a kernel that may start before the one in front of it on the stream is done (start_dependents), and
/// begins with await_previous_grid. Of clusters of `cluster` blocks. From compute capability 9.0 on.
template <class... Parameters, class... Args>
void launch_behind(const char* name, void (*kernel)(Parameters...), launch_shape shape, int cluster,
                   cudaStream_t stream, const Args&... args) {
  if (shape.blocks == 0 || shape.panels == 0) return;
  cudaLaunchAttribute attributes[2]{};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(shape.blocks), static_cast<unsigned>(shape.panels));
  config.blockDim = dim3(static_cast<unsigned>(shape.threads));
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = 2;
  check(cudaLaunchKernelEx(&config, kernel, Parameters(args)...), name);
}

/// One or the other; both kinds of kernels may have await_previous_grid.
template <class... Parameters, class... Args>
void launch(const char* name, void (*kernel)(Parameters...), launch_shape shape, bool behind, cudaStream_t stream,
            const Args&... args) {
  if (behind) {
    launch_behind(name, kernel, shape, 1, stream, args...);
  } else {
    launch(name, kernel, shape, stream, args...);
  }
}

/// Runs a kernel that is a grid-stride loop over `items` items on the context's stream.
template <class... Parameters, class... Args>
void launch_items(const context& ctx, const char* name, void (*kernel)(Parameters...), std::int64_t items,
                  const Args&... args) {
  launch(name, kernel, bounded(ctx, threads_for(items)), native(ctx), args...);
}

template <class F>
__global__ void for_each_item_kernel(std::int64_t items, F f) {
  for (std::int64_t i = grid_thread(); i < items; i += grid_stride()) f(i);
}

/// Calls f(i), a device lambda, for every i below `items` on the context's stream: one thread per item.
template <class F>
void for_each_item(const context& ctx, const char* name, std::int64_t items, F f) {
  launch_items(ctx, name, for_each_item_kernel<F>, items, items, f);
}

}  // namespace tulle::cuda
