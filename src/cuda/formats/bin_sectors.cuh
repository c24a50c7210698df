// What is written of a bin of a bin_bsr where values change.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cuda/device/warp.cuh"

namespace tulle::cuda {

/// The longest row of those whose values share sectors of 32 bytes with this lane's: so many slots are written, those
/// that rows do not use with the zeros that are there, since a sector half written costs more than a whole one. By
/// whole warps.
template <class T>
__device__ __forceinline__ std::int64_t longest_in_sector(std::int64_t length) {
#pragma unroll
  for (int d = 16 / static_cast<int>(sizeof(T)); d > 0; d /= 2) {
    length = max(length, __shfl_xor_sync(full_warp, length, d));
  }
  return length;
}

}  // namespace tulle::cuda
