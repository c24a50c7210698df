// What a kernel does with its finished row sums s_i = (A x)_i. An epilogue is passed to a kernel by value; each thread
// works on its own copy:
//   epilogue(row, sum)              one thread, once for every row whose sum it finished;
//   epilogue.shared_row(slot, ...)  the same, for a row that several blocks sum and the last of them to arrive
//                                   finishes; `slot` numbers such rows from 0;
//   epilogue.finish()               every thread of every block, once, after its last row.
// scale_and_store costs nothing beyond the store; jacobi_step and store_with_dots read what they say besides.
#pragma once

#include <cuda/atomic>
#include <tulle/core/types.hpp>

#include "cuda/device/warp.cuh"

namespace tulle::cuda {

/// y = alpha s + beta y. beta = 0 never reads y.
template <class T>
struct scale_and_store {
  T alpha;
  T beta;
  T* y;

  __device__ __forceinline__ T operator()(index_t row, T sum) const {
    const T scaled = multiply_add(alpha, sum, T{0});
    return y[row] = beta == T{0} ? scaled : multiply_add(beta, y[row], scaled);
  }
  __device__ __forceinline__ void shared_row(index_t /*slot*/, index_t row, T sum) const { (*this)(row, sum); }
  __device__ __forceinline__ void finish() const {}
  /// Adds to a row that operator() has written.
  __device__ __forceinline__ void add_to(index_t row, T sum) const { y[row] = multiply_add(alpha, sum, y[row]); }
};

/// y = x + omega D^-1 (b - s): the weighted Jacobi method (Saad, Iterative Methods for Sparse Linear Systems, 2003,
/// section 4.1). Reads 3 more values per row.
template <class T>
struct jacobi_step {
  T omega;
  const T* x;
  const T* b;
  const T* inverse_diagonal;
  T* y;

  __device__ __forceinline__ void operator()(index_t row, T sum) const {
    y[row] = fma(omega * inverse_diagonal[row], b[row] - sum, x[row]);
  }
  __device__ __forceinline__ void shared_row(index_t /*slot*/, index_t row, T sum) const { (*this)(row, sum); }
  __device__ __forceinline__ void finish() const {}
};

/// Memory through which the blocks of a launch add up two dot products in two levels: the last block of a group to
/// arrive adds the shares of its group, the last group to finish adds the shares of the groups and of the shared rows.
/// A share is a pair of values.
template <class T>
struct dot_shares {
  static constexpr unsigned group_blocks = 256;

  T* share;           // of each block, then of each group, then of each shared row; of unused rows 0
  unsigned* arrived;  // 0 between launches: groups that finished; end of the slots in use; blocks of each group

  __host__ __device__ static constexpr unsigned groups(unsigned blocks) {
    return (blocks + group_blocks - 1) / group_blocks;
  }
};

/// Counts the calling block; true (for all of its threads) in the last of `expected` blocks to call, which then sees
/// what the others wrote before and sets the counter back to 0.
__device__ __forceinline__ bool last_to_arrive(unsigned* counter, unsigned expected) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    const ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_device> arrived(*counter);
    last = arrived.fetch_add(1, ::cuda::memory_order_acq_rel) == expected - 1;
    if (last) *counter = 0;
  }
  __syncthreads();
  return last;
}

/// scale_and_store, and dots = {w . y, y . y}. Shares are added in an order that depends on the grid alone, whatever the
/// order of arrival. Reads 1 more value per row. blockDim.x is a multiple of 32.
template <class T>
struct store_with_dots {
  scale_and_store<T> store;
  const T* w;
  T* dots;
  dot_shares<T> shares;
  T wy = 0;
  T yy = 0;

  __device__ __forceinline__ void operator()(index_t row, T sum) {
    const T y = store(row, sum);
    wy = fma(w[row], y, wy);
    yy = fma(y, y, yy);
  }
  __device__ __forceinline__ void shared_row(index_t slot, index_t row, T sum) const {
    const T y = store(row, sum);
    T* const share = shares.share + 2 * (std::int64_t{gridDim.x} + shares.groups(gridDim.x) + slot);
    share[0] = w[row] * y;
    share[1] = y * y;
    atomicMax(shares.arrived + 1, static_cast<unsigned>(slot) + 1);
  }
  __device__ void finish() {
    const unsigned groups = shares.groups(gridDim.x);
    const unsigned group = blockIdx.x / shares.group_blocks;
    const unsigned first = group * shares.group_blocks;
    const unsigned blocks = min(shares.group_blocks, gridDim.x - first);
    sum_block(shares.share + 2 * std::int64_t{blockIdx.x});
    if (!last_to_arrive(shares.arrived + 2 + group, blocks)) return;
    take_shares(first, blocks);
    sum_block(shares.share + 2 * (std::int64_t{gridDim.x} + group));
    if (!last_to_arrive(shares.arrived, groups)) return;
    take_shares(gridDim.x, std::int64_t{groups} + __ldcg(shares.arrived + 1));
    sum_block(dots);
    if (threadIdx.x == 0) shares.arrived[1] = 0;
  }

 private:
  /// wy and yy become the thread's part of `count` shares.
  __device__ __forceinline__ void take_shares(std::int64_t first, std::int64_t count) {
    wy = yy = T{0};
#pragma unroll 8
    for (std::int64_t i = first + threadIdx.x; i < first + count; i += blockDim.x) {
      wy += __ldcg(shares.share + 2 * i);
      yy += __ldcg(shares.share + 2 * i + 1);
    }
  }
  /// Writes the sums of wy and yy over the block to out[0] and out[1]. Calls are at least one barrier apart.
  __device__ __forceinline__ void sum_block(T* out) {
    __shared__ T warp_share[2][32];
    wy = warp_sum(wy);
    yy = warp_sum(yy);
    if (lane_id() == 0) {
      warp_share[0][threadIdx.x / 32] = wy;
      warp_share[1][threadIdx.x / 32] = yy;
    }
    __syncthreads();
    if (threadIdx.x >= 32) return;
    const bool live = threadIdx.x < blockDim.x / 32;
    wy = warp_sum(live ? warp_share[0][threadIdx.x] : T{0});
    yy = warp_sum(live ? warp_share[1][threadIdx.x] : T{0});
    if (threadIdx.x == 0) {
      out[0] = wy;
      out[1] = yy;
    }
  }
};

}  // namespace tulle::cuda
