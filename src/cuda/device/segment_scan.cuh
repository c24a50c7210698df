// Inclusive sums over runs of equal keys, across a warp and across a block of any number of warps.
// Keys must not decrease from thread to thread. The order of additions depends on positions alone.
#pragma once

#include <tulle/core/types.hpp>

#include "cuda/device/warp.cuh"

namespace tulle::cuda {

template <class T>
__device__ __forceinline__ T warp_segment_scan(index_t key, T v) {
  const int lane = lane_id();
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const T before = __shfl_up_sync(full_warp, v, d);
    const index_t key_before = __shfl_up_sync(full_warp, key, d);
    if (lane >= d && key_before == key) v = add(v, before);
  }
  return v;
}

/// The last key and its sum of each warp.
template <class T>
struct segment_scan_storage {
  index_t key[32];
  T value[32];
};

/// All threads of the block call it; blockDim.x is a multiple of 32. On return `storage` holds, for every warp, the
/// key of its last thread and that key's sum from the block's start to there.
template <class T>
__device__ __forceinline__ T block_segment_scan(index_t key, T v, segment_scan_storage<T>& storage) {
  const int lane = lane_id();
  const int warp = threadIdx.x / 32;
  const int warps = blockDim.x / 32;
  v = warp_segment_scan(key, v);
  if (lane == 31) {
    storage.key[warp] = key;
    storage.value[warp] = v;
  }
  __syncthreads();
  if (warp == 0) {
    const int source = lane < warps ? lane : warps - 1;  // the surplus lanes repeat the last key
    const T scanned = warp_segment_scan(storage.key[source], lane < warps ? storage.value[source] : T{0});
    __syncwarp();
    if (lane < warps) storage.value[lane] = scanned;
  }
  __syncthreads();
  if (warp > 0 && storage.key[warp - 1] == key) v = add(v, storage.value[warp - 1]);
  return v;
}

}  // namespace tulle::cuda
