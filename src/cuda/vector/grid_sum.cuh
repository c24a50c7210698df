// Sums over a whole grid in one launch: every block leaves its share, the block that comes last adds them in order. The
// order of additions depends on the grid alone, not on which block that is.
#pragma once

#include <cuda/atomic>
#include <tulle/core/context.hpp>

#include "cuda/device/warp.cuh"
#include "cuda/runtime/launch.cuh"
#include "kernels/vector.hpp"

namespace tulle::cuda {

constexpr int blocks_per_multiprocessor = 4;  // of block_threads, all resident at once

/// Of a kernel that takes `unroll` elements per thread and round, a grid apart.
inline launch_shape vector_grid(const vector_work& work, int unroll) {
  const std::int64_t most = std::int64_t{work.ctx.info().multiprocessors} * blocks_per_multiprocessor;
  return {std::clamp<std::int64_t>(ceil_div(work.n, std::int64_t{block_threads} * unroll), 1, most)};
}

/// What a kernel does with its sums. The workspace: the number of blocks that have arrived, 0 between launches, in the
/// first 8 bytes; then block b's share of sum k at shares[k * blocks + b].
struct grid_sums {
  void* workspace = nullptr;
  void* results = nullptr;
  scalar_type type = scalar_type::f64;  // of the results, f32 or f64
  int count = 0;
  bool root = false;  // the results are square roots of the sums

  /// All threads of all blocks call it once, each with its own share of K >= count sums.
  template <int K>
  __device__ void finish(double (&sum)[K]) const {
    __shared__ double warp_share[K][block_threads / 32];
    __shared__ bool is_last;
    auto* const arrived = static_cast<unsigned*>(workspace);
    double* const shares = static_cast<double*>(workspace) + 1;
    sum_block(sum, warp_share);
    if (threadIdx.x == 0) {
#pragma unroll
      for (int k = 0; k < K; ++k) shares[k * gridDim.x + blockIdx.x] = sum[k];
      const ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_device> counter(*arrived);
      is_last = counter.fetch_add(1, ::cuda::memory_order_acq_rel) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last) return;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      sum[k] = 0;
      for (unsigned b = threadIdx.x; b < gridDim.x; b += block_threads) sum[k] += __ldcg(shares + k * gridDim.x + b);
    }
    sum_block(sum, warp_share);
    if (threadIdx.x == 0) {
#pragma unroll
      for (int k = 0; k < K; ++k) {
        if (k >= count) break;
        const double result = root ? sqrt(sum[k]) : sum[k];
        if (type == scalar_type::f64) {
          static_cast<double*>(results)[k] = result;
        } else {
          static_cast<float*>(results)[k] = static_cast<float>(result);
        }
      }
      *arrived = 0;
    }
  }

 private:
  /// The sums of thread 0 become those of the block.
  template <int K>
  static __device__ void sum_block(double (&sum)[K], double (&warp_share)[K][block_threads / 32]) {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      sum[k] = warp_sum(sum[k]);
      if (lane_id() == 0) warp_share[k][threadIdx.x / 32] = sum[k];
    }
    __syncthreads();
    if (threadIdx.x >= 32) return;
#pragma unroll
    for (int k = 0; k < K; ++k) sum[k] = warp_sum(lane_id() < block_threads / 32 ? warp_share[k][lane_id()] : 0.0);
  }
};

}  // namespace tulle::cuda
