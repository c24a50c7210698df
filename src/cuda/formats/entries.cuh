// Walking the nonzeros of a CSR in equal shares, however they are spread over its rows.
#pragma once

#include <cstdint>
#include <tulle/core/types.hpp>

#include "cuda/formats/launch.cuh"

namespace tulle::cuda {

/// Position of the first of n ascending numbers that is not below `value`.
template <class T>
__device__ std::int64_t lower_bound(const T* numbers, std::int64_t n, T value) {
  std::int64_t low = 0;
  while (low < n) {
    const std::int64_t middle = low + (n - low) / 2;
    if (numbers[middle] < value) {
      low = middle + 1;
    } else {
      n = middle;
    }
  }
  return low;
}

/// The row that holds entry k, given rowptr[low] <= k < rowptr[high].
template <class O>
__device__ index_t row_of(const O* rowptr, index_t low, index_t high, std::int64_t k) {
  while (high - low > 1) {
    const index_t middle = low + (high - low) / 2;
    if (rowptr[middle] <= k) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

constexpr int entry_tile = 2048;

/// Calls f(row, k, active) for every entry k, a tile of consecutive entries a block. All threads of a block make the
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

/// Runs a kernel that is one for_each_entry over `entries` entries.
template <class... Parameters, class... Args>
void launch_entries(const context& ctx, const char* name, void (*kernel)(Parameters...), std::int64_t entries,
                    const Args&... args) {
  launch_blocks(ctx, name, kernel, blocks_for(entries, entry_tile), block_threads, args...);
}

}  // namespace tulle::cuda
