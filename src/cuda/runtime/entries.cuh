// Loops over the nonzeros of a CSR in equal shares, whatever the row lengths.
#pragma once

#include <cstdint>
#include <tulle/core/types.hpp>

#include "cuda/device/search.cuh"
#include "cuda/runtime/launch.cuh"

namespace tulle::cuda {

constexpr int entry_tile = 2048;

/// Calls f(row, k, active) for every entry k, a tile of consecutive entries per block. All threads of a block make the
/// same number of calls, so that f may use warp-wide operations; surplus threads repeat the tile's last entry with
/// active = false. The grid may have any size; blockDim.x divides entry_tile.
template <class O, class F>
__device__ void for_each_entry(index_t rows, const O* rowptr, F f) {
  __shared__ index_t bounds[2];
  const std::int64_t nnz = rowptr[rows];
  for (std::int64_t begin = std::int64_t{blockIdx.x} * entry_tile; begin < nnz;
       begin += std::int64_t{gridDim.x} * entry_tile) {
    const std::int64_t last = min(begin + entry_tile, nnz) - 1;
    if (threadIdx.x < 2) bounds[threadIdx.x] = row_of(rowptr, 0, rows, threadIdx.x == 0 ? begin : last);
    __syncthreads();
    const index_t low = bounds[0];
    const index_t high = bounds[1] + 1;
    for (std::int64_t at = begin + threadIdx.x; at < begin + entry_tile; at += blockDim.x) {
      const std::int64_t k = min(at, last);
      f(row_of(rowptr, low, high, k), k, at <= last);
    }
    __syncthreads();
  }
}

/// Runs a kernel that is one for_each_entry over `entries` entries on the context's stream.
template <class... Parameters, class... Args>
void launch_entries(const context& ctx, const char* name, void (*kernel)(Parameters...), std::int64_t entries,
                    const Args&... args) {
  launch(name, kernel, bounded(ctx, {ceil_div(entries, entry_tile)}), native(ctx), args...);
}

template <class O, class F>
__global__ void for_each_entry_kernel(index_t rows, const O* rowptr, F f) {
  for_each_entry(rows, rowptr, [&](index_t row, std::int64_t k, bool active) {
    if (active) f(row, k);
  });
}

/// Calls f(row, k), a device lambda, for every entry k of a CSR with `entries` entries on the context's stream.
template <class O, class F>
void for_each_entry(const context& ctx, const char* name, std::int64_t entries, index_t rows, const O* rowptr, F f) {
  launch_entries(ctx, name, for_each_entry_kernel<O, F>, entries, rows, rowptr, f);
}

}  // namespace tulle::cuda
