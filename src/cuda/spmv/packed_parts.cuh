// The parts of a long row meet in memory: each warp leaves its sums and counts itself, and the warp that comes last adds
// them in order, so that the result does not depend on which one that is.
#pragma once

#include <cuda/atomic>

#include "cuda/device/arithmetic.cuh"
#include "cuda/spmv/packed_format.cuh"

namespace tulle::cuda {

/// `sum`: this part's, in every lane; `part_sum`: Count values for each part. Returns whether the calling lane is lane 0
/// of the warp that comes last, which then has the row's sums in `sum`.
template <int Count, class T>
__device__ __forceinline__ bool add_part(const packed_pattern& a, const packed_slice& s, T (&sum)[Count], T* part_sum,
                                         packed_long_row& row, std::uint32_t& slot) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  slot = a.part_row[s.order];
  row = a.long_row[slot];
  bool last = false;
  if (lane == 0) {
    for (int j = 0; j < Count; ++j) part_sum[std::int64_t{s.order} * Count + j] = sum[j];
    const ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_device> arrived(a.long_row[slot].arrived);
    last = arrived.fetch_add(1, ::cuda::memory_order_acq_rel) == row.count - 1;
  }
  if (__any_sync(0xffffffffu, last) == 0) return false;
  for (int j = 0; j < Count; ++j) {
    sum[j] = T{0};
    for (std::uint32_t i = static_cast<std::uint32_t>(lane); i < row.count; i += 32) {
      sum[j] = add(sum[j], __ldcg(part_sum + std::int64_t{row.first + i} * Count + j));
    }
    sum[j] = sum_over_lanes<32>(sum[j]);
  }
  if (lane != 0) return false;
  a.long_row[slot].arrived = 0;
  return true;
}

}  // namespace tulle::cuda
