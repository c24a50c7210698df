// What a kernel does with its finished row sums s_i = (A x)_i. An epilogue is passed to a kernel by value; each thread
// works on its own copy:
//   epilogue(row, sum)              one thread, once for every row whose sum it finished;
//   epilogue.shared_row(slot, ...)  the same, for a row that several blocks sum and the last of them to arrive
//                                   finishes; `slot` numbers such rows from 0;
//   epilogue.finish()               every thread of every block, once, after its last row;
//   epilogue.fetch(row)             early, where the row is known: what operator() will read comes closer.
// scale_and_store costs nothing beyond the store; jacobi_step and store_with_dots read what they say besides. Each writes
// row r to y[order[r]] where it is given an order (spmv_operator::store_in_order).
#pragma once

#include <cuda/atomic>
#include <tulle/core/types.hpp>

#include "cuda/device/grid.cuh"
#include "cuda/device/load.cuh"
#include "cuda/device/warp.cuh"

namespace tulle::cuda {

/// Where row r goes: order[r], or r where there is no order.
struct row_places {
  const index_t* order = nullptr;

  __device__ __forceinline__ index_t operator()(index_t row) const {
    return order == nullptr ? row : __ldg(order + row);
  }
  __device__ __forceinline__ void fetch(index_t row) const {
    if (order != nullptr) prefetch_l2(order + row);
  }
};

/// y = alpha s + beta y. beta = 0 never reads y.
template <class T>
struct scale_and_store {
  T alpha;
  T beta;
  T* y;
  row_places place = {};

  /// For the element `at`, which is not a row's number where there is an order.
  __device__ __forceinline__ T put(index_t at, T sum) const {
    const T scaled = multiply_add(alpha, sum, T{0});
    return y[at] = beta == T{0} ? scaled : multiply_add(beta, y[at], scaled);
  }
  __device__ __forceinline__ T operator()(index_t row, T sum) const { return put(place(row), sum); }
  __device__ __forceinline__ void shared_row(index_t /*slot*/, index_t row, T sum) const { (*this)(row, sum); }
  __device__ __forceinline__ void finish() const {}
  __device__ __forceinline__ void fetch(index_t row) const { place.fetch(row); }
  /// Adds to a row that operator() has written.
  __device__ __forceinline__ void add_to(index_t row, T sum) const {
    T* const at = y + place(row);
    *at = multiply_add(alpha, sum, *at);
  }
};

/// y = x + omega D^-1 (b - s): the weighted Jacobi method (Saad, Iterative Methods for Sparse Linear Systems, 2003,
/// section 4.1). Reads 3 more values per row. x is in the order of the rows, whatever the place of the others.
template <class T>
struct jacobi_step {
  T omega;
  const T* x;
  const T* b;
  const T* inverse_diagonal;
  T* y;
  row_places place = {};

  __device__ __forceinline__ void fetch(index_t row) const {
    if (place.order != nullptr) return place.fetch(row);
    prefetch_l2(b + row);
    prefetch_l2(inverse_diagonal + row);
  }
  __device__ __forceinline__ void operator()(index_t row, T sum) const {
    const index_t at = place(row);
    y[at] = fma(omega * __ldg(inverse_diagonal + at), __ldg(b + at) - sum, __ldg(x + row));
  }
  __device__ __forceinline__ void shared_row(index_t /*slot*/, index_t row, T sum) const { (*this)(row, sum); }
  __device__ __forceinline__ void finish() const {}
};

/// Where the blocks of a launch leave their shares of two dot products; a share is a pair of values. add_shares
/// (cuda/spmv/dot_workspace.cu) adds them up behind the launch, or the last block of a small grid does: to let that one
/// see what all wrote, every block must wait until its writes are through, which takes longer than the sums of a short
/// block.
struct dot_shares {
  double* share;             // of each block, then of each shared row; of unused rows 0
  std::int64_t shared_rows;  // the place of the first
  std::int64_t count;        // of all shares
  unsigned* arrived;         // blocks, 0 between launches; null where add_shares comes
};

/// Two dot products in the type that the caller wants.
struct dot_results {
  void* data;
  bool wide;  // f64, else f32

  __device__ __forceinline__ void set(int i, double sum) const {
    if (wide)
      static_cast<double*>(data)[i] = sum;
    else
      static_cast<float*>(data)[i] = static_cast<float>(sum);
  }
};

/// In lanes 0 to 15 the sum of `a` over the warp, in the others that of `b`.
__device__ __forceinline__ double warp_sum_pair(double a, double b) {
  const bool upper = lane_id() >= 16;
  double sum = (upper ? b : a) + __shfl_xor_sync(full_warp, upper ? a : b, 16);
#pragma unroll
  for (int d = 8; d > 0; d /= 2) sum += __shfl_xor_sync(full_warp, sum, d);
  return sum;
}

/// The sums of a and b over the block, in threads 0 and 1. Calls are at least one barrier apart.
__device__ __forceinline__ double block_sum_pair(double a, double b) {
  __shared__ double of_warp[64];  // two of each
  const int values = static_cast<int>(blockDim.x / 16), lane = lane_id();
  const double sum = warp_sum_pair(a, b);
  if (lane % 16 == 0) of_warp[threadIdx.x / 32 * 2 + lane / 16] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return 0;
  double total = lane < values ? of_warp[lane] : 0;
  if (lane + 32 < values) total += of_warp[lane + 32];
#pragma unroll
  for (int d = 16; d > 1; d /= 2) {
    if (d < values) total += __shfl_xor_sync(full_warp, total, d);
  }
  return total;
}

/// Adds the thread's part of shares first, first + step, ... to a and b.
__device__ __forceinline__ void take_shares(const double* share, std::int64_t first, std::int64_t end, std::int64_t step,
                                            double& a, double& b) {
  const auto* const pairs = reinterpret_cast<const double2*>(share);
#pragma unroll 8
  for (std::int64_t i = first; i < end; i += step) {
    const double2 pair = __ldcg(pairs + i);
    a += pair.x;
    b += pair.y;
  }
}

/// Counts the calling block, whose thread 0 wrote what the last of `expected` blocks will read; true in the last one's
/// threads, which then see it. Orders less than an acquiring count would: what a block has in its L1 stays there.
__device__ __forceinline__ bool last_to_arrive(unsigned* counter, unsigned expected) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    const ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_device> arrived(*counter);
    last = arrived.fetch_add(1, ::cuda::memory_order_release) == expected - 1;
    if (last) {
      ::cuda::atomic_thread_fence(::cuda::memory_order_acquire, ::cuda::thread_scope_device);
      *counter = 0;
    }
  }
  __syncthreads();
  return last;
}

/// scale_and_store, and dots = {w . y, y . y}, summed in f64 in an order that depends on the grid alone. Reads 1 more
/// value per row. blockDim.x is a multiple of 32.
template <class T>
struct store_with_dots {
  scale_and_store<T> store;
  const T* w;
  dot_results dots;
  dot_shares shares;
  double wy = 0;
  double yy = 0;

  __device__ __forceinline__ void fetch(index_t row) const {
    if (store.place.order != nullptr) return store.fetch(row);
    prefetch_l2(w + row);
  }
  __device__ __forceinline__ void operator()(index_t row, T sum) {
    const index_t at = store.place(row);
    const double y = store.put(at, sum);
    wy = fma(static_cast<double>(__ldg(w + at)), y, wy);
    yy = fma(y, y, yy);
  }
  __device__ __forceinline__ void shared_row(index_t slot, index_t row, T sum) const {
    const index_t at = store.place(row);
    const double y = store.put(at, sum);
    double* const share = shares.share + 2 * (shares.shared_rows + slot);
    share[0] = static_cast<double>(__ldg(w + at)) * y;
    share[1] = y * y;
  }
  __device__ __forceinline__ void finish() {
    start_dependents();
    const double sum = block_sum_pair(wy, yy);
    if (threadIdx.x < 2) shares.share[2 * std::int64_t{blockIdx.x} + threadIdx.x] = sum;
    if (shares.arrived != nullptr) add_up();
  }

 private:
  __device__ __forceinline__ void add_up() {
    __syncwarp();
    if (!last_to_arrive(shares.arrived, gridDim.x)) return;
    wy = yy = 0;
    take_shares(shares.share, threadIdx.x, shares.count, blockDim.x, wy, yy);
    const double sum = block_sum_pair(wy, yy);
    if (threadIdx.x < 2) dots.set(static_cast<int>(threadIdx.x), sum);
  }
};

}  // namespace tulle::cuda
