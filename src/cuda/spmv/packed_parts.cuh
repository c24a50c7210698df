// The parts of a long row: each warp leaves its sums in memory and counts itself; the last warp to arrive adds them in
// order, so that the result does not depend on which warp that is.
#pragma once

#include <cuda/atomic>

#include "cuda/device/warp.cuh"
#include "cuda/spmv/packed_format.cuh"

namespace tulle::cuda {

/// Sums sum[j] over the threads of the warp with the same position in their group of `Group`.
template <int Group, int Count, class T>
__device__ __forceinline__ void sum_over_groups(T (&sum)[Count]) {
#pragma unroll
  for (int d = 16; d >= Group; d /= 2) {
#pragma unroll
    for (int j = 0; j < Count; ++j) sum[j] = add(sum[j], __shfl_xor_sync(full_warp, sum[j], d));
  }
}

/// `sum`: those of this part, in every thread; `Count` right-hand sides for each of `Group` neighbouring threads.
/// `part_sum`: Group * Count values per part. True in the first group of the last warp to arrive, whose `sum` then is
/// that of the row.
template <int Group, int Count, class T>
__device__ __forceinline__ bool add_part(const packed_pattern& a, const packed_slice& s, T (&sum)[Count], T* part_sum,
                                         packed_long_row& row, std::uint32_t& slot) {
  const int thread = lane_id();
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
#pragma unroll
  for (int j = 0; j < Count; ++j) sum[j] = T{0};
#pragma unroll 4
  for (std::uint32_t i = static_cast<std::uint32_t>(thread / Group); i < row.count; i += 32 / Group) {
#pragma unroll
    for (int j = 0; j < Count; ++j) sum[j] = add(sum[j], __ldcg(place(row.first + i, j)));
  }
  sum_over_groups<Group>(sum);
  if (thread == 0) a.long_row[slot].arrived = 0;
  return thread < Group;
}

}  // namespace tulle::cuda
