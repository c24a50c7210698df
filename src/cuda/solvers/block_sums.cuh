// Sums of pairs over the warps of a block.
#pragma once

#include "cuda/device/warp.cuh"

namespace tulle::cuda {

struct warp_sums {
  double of_warp[32][2];
};

/// Lanes 0 and 16 of every warp leave the warp's sums of a and b. A barrier must follow.
__device__ __forceinline__ void leave_warp_sums(double a, double b, warp_sums& s) {
  const bool upper = lane_id() >= 16;
  double sum = (upper ? b : a) + __shfl_xor_sync(full_warp, upper ? a : b, 16);
#pragma unroll
  for (int d = 8; d > 0; d /= 2) sum += __shfl_xor_sync(full_warp, sum, d);
  if (lane_id() % 16 == 0) s.of_warp[threadIdx.x / 32][lane_id() / 16] = sum;
  __syncwarp();  // a barrier must follow, and warps come to it whole
}

/// By a whole warp: in its lanes 0 to 15 the block's sum of a, in the others that of b.
__device__ __forceinline__ double add_warp_sums(const warp_sums& s) {
  const int lane = lane_id(), warps = static_cast<int>(blockDim.x / 32);
  double sum = lane % 16 < warps ? s.of_warp[lane % 16][lane / 16] : 0;
  if (lane % 16 + 16 < warps) sum += s.of_warp[lane % 16 + 16][lane / 16];
#pragma unroll
  for (int d = 8; d > 0; d /= 2) sum += __shfl_xor_sync(full_warp, sum, d);
  return sum;
}

}  // namespace tulle::cuda
