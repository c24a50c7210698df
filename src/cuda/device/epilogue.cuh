// What a kernel does with its finished row sums s_i = (A x)_i. An epilogue is passed to a kernel by value; each thread
// works on its own copy:
//   epilogue(row, sum)              one thread, once for every row whose sum it finished;
//   epilogue.shared_row(slot, ...)  the same, for a row that several blocks sum and whichever comes last finishes;
//                                   `slot` numbers such rows from 0;
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
/// section 4.1). 3 more values read a row.
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

/// Where the blocks' shares of the dot products meet: 2 values for each block and each shared row; `arrived` is 0
/// between launches.
template <class T>
struct dot_shares {
  T* share;
  unsigned* arrived;
  index_t shared_rows;
};

/// scale_and_store, and dots = {w . y, y . y}. The block that comes last adds the shares in order, so the result does not
/// depend on which one that is. 1 more value read a row.
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
    shares.share[2 * (gridDim.x + slot)] = w[row] * y;
    shares.share[2 * (gridDim.x + slot) + 1] = y * y;
  }
  __device__ void finish() {
    __shared__ T warp_share[2][32];
    __shared__ bool is_last;
    const int warps = (blockDim.x + 31) / 32;
    sum_block(warp_share, warps);
    __syncthreads();  // this block's shared rows are written
    if (threadIdx.x == 0) {
      shares.share[2 * blockIdx.x] = wy;
      shares.share[2 * blockIdx.x + 1] = yy;
      const ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_device> arrived(*shares.arrived);
      is_last = arrived.fetch_add(1, ::cuda::memory_order_acq_rel) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last) return;
    wy = yy = T{0};
    const std::int64_t count = std::int64_t{gridDim.x} + shares.shared_rows;
#pragma unroll 8
    for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x) {
      wy += __ldcg(shares.share + 2 * i);
      yy += __ldcg(shares.share + 2 * i + 1);
    }
    sum_block(warp_share, warps);
    if (threadIdx.x == 0) {
      dots[0] = wy;
      dots[1] = yy;
      *shares.arrived = 0;
    }
  }

 private:
  /// wy and yy of thread 0 become the sums over the block, whose size is a multiple of 32.
  __device__ __forceinline__ void sum_block(T (&warp_share)[2][32], int warps) {
    wy = warp_sum(wy);
    yy = warp_sum(yy);
    if (threadIdx.x % 32 == 0) {
      warp_share[0][threadIdx.x / 32] = wy;
      warp_share[1][threadIdx.x / 32] = yy;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
      wy = warp_sum(static_cast<int>(threadIdx.x) < warps ? warp_share[0][threadIdx.x] : T{0});
      yy = warp_sum(static_cast<int>(threadIdx.x) < warps ? warp_share[1][threadIdx.x] : T{0});
    }
  }
};

}  // namespace tulle::cuda
