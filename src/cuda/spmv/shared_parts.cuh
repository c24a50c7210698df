// A row that several blocks sum, finished in the same launch: each block leaves its part and counts itself; the block that
// comes last adds the parts in the order of the tiles, so the result does not depend on which one that is.
#pragma once

#include "cuda/spmv/shared_rows.cuh"

namespace tulle::cuda {

/// part[2 t]: tile t's part of the shared row that starts in it; part[2 t + 1]: of the one that started earlier.
/// arrived[t] counts the parts of the row that starts in tile t, and is 0 between launches.
template <class T>
struct shared_parts {
  T* part;
  unsigned* arrived;
};

/// The whole block calls it: `mine` (of each thread) belongs to `row`, which covers tiles first..last; this is `tile`.
template <int Block, class T, class Epilogue>
__device__ void add_shared_part(shared_parts<T> parts, T mine, index_t row, std::int64_t first, std::int64_t last,
                                std::int64_t tile, Epilogue& epilogue) {
  __shared__ bool comes_last;
  const T sum = sum_over_block<Block>(mine);
  if (threadIdx.x == 0) {
    parts.part[2 * tile + (tile != first)] = sum;
    __threadfence();
    comes_last = atomicAdd(parts.arrived + first, 1u) == static_cast<unsigned>(last - first);
  }
  __syncthreads();
  if (!comes_last) return;
  __threadfence();
  T total{0};
#pragma unroll 4
  for (std::int64_t t = first + threadIdx.x; t <= last; t += Block) {
    total = add(total, __ldcg(parts.part + 2 * t + (t != first)));
  }
  total = sum_over_block<Block>(total);
  if (threadIdx.x == 0) {
    parts.arrived[first] = 0;
    epilogue.shared_row(static_cast<index_t>(first), row, total);
  }
}

}  // namespace tulle::cuda
