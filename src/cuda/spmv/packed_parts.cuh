// The parts of a long row meet in memory: each warp leaves its sums and counts itself, and the warp that comes last
// adds them in order, so that the result does not depend on which one that is.
#pragma once

#include <cuda/atomic>

#include "cuda/device/warp.cuh"
#include "cuda/spmv/packed_format.cuh"

namespace tulle::cuda {

/// sum[j] over the warp's threads that have the same place in their group of `Group`.
template <int Group, int Count, class T>
__device__ __forceinline__ void sum_over_groups(T (&sum)[Count]) {
#pragma unroll
  for (int d = 16; d >= Group; d /= 2) {
#pragma unroll
    for (int j = 0; j < Count; ++j) sum[j] = add(sum[j], __shfl_xor_sync(full_warp, sum[j], d));
  }
}

/// `sum`: this part's, in every thread, `Count` right-hand sides for each of `Group` neighbours. `part_sum`: Group *
/// Count values for each part. Returns whether the calling thread is one of the first group of the warp that comes
/// last, which then has the row's sums in `sum`.
template <int Group, int Count, class T>
__device__ __forceinline__ bool add_part(const packed_pattern& a, const packed_slice& s, T (&sum)[Count], T* part_sum,
                                         packed_long_row& row, std::uint32_t& slot) {
  const int thread = static_cast<int>(threadIdx.x % 32);
  const auto place = [&](std::uint32_t part, int j) {
    return part_sum + (std::int64_t{part} * Group + thread % Group) * Count + j;
  };
  slot = a.part_row[s.order];
  row = a.long_row[slot];
  if (thread < Group) {
    for (int j = 0; j < Count; ++j) *place(s.order, j) = sum[j];
  }
  __syncwarp();
  bool last = false;
  if (thread == 0) {
    const ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_device> arrived(a.long_row[slot].arrived);
    last = arrived.fetch_add(1, ::cuda::memory_order_acq_rel) == row.count - 1;
  }
  if (__any_sync(full_warp, last) == 0) return false;
  __syncwarp();
  for (int j = 0; j < Count; ++j) {
    sum[j] = T{0};
    for (std::uint32_t i = static_cast<std::uint32_t>(thread / Group); i < row.count; i += 32 / Group) {
      sum[j] = add(sum[j], __ldcg(place(row.first + i, j)));
    }
  }
  sum_over_groups<Group>(sum);
  if (thread == 0) a.long_row[slot].arrived = 0;
  return thread < Group;
}

}  // namespace tulle::cuda
