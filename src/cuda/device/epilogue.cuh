// What a kernel does with its finished row sums s_i = (A x)_i. An epilogue is passed to a kernel by value; each thread
// works on its own copy:
//   epilogue(row, sum)              one thread, once for every row whose sum it finished;
//   epilogue.shared_row(slot, ...)  the same, for a row that several blocks sum and the last of them to arrive
//                                   finishes; `slot` numbers such rows from 0;
//   epilogue.finish()               every thread of every block, once, after its last row;
//   epilogue.fetch(row)             early, where the row is known: what operator() will read comes closer.
// Instead of operator(), in two steps: inputs in = epilogue.read(row), then epilogue.put(in, sum).
// scale_and_store costs nothing beyond the store; jacobi_step and store_with_dots read what they say besides. Each
// writes row r to y[order[r]] where it is given an order (spmv_operator::store_in_order).
#pragma once

#include <tulle/core/types.hpp>

#include "cuda/device/grid.cuh"
#include "cuda/device/load.cuh"
#include "cuda/device/warp.cuh"

namespace tulle::cuda {

/// Where row r goes: order[r], or r where there is no order.
struct row_places {
  const index_t* order = nullptr;
  bool x_too = false;  // of a Jacobi step's own x

  __device__ __forceinline__ index_t operator()(index_t row) const {
    return order == nullptr ? row : __ldg(order + row);
  }
  __device__ __forceinline__ void fetch(index_t row) const {
    if (order != nullptr) prefetch_l2(order + row);
  }
};

/// y = alpha s + beta from. beta = 0 never reads `from`.
template <class T>
struct scale_and_store {
  T alpha;
  T beta;
  T* y;
  const T* from = y;
  row_places place = {};
  static constexpr bool reads_more = false;

  struct inputs {
    index_t at;
  };
  __device__ __forceinline__ inputs read(index_t row) const { return {place(row)}; }
  __device__ __forceinline__ T put(const inputs& in, T sum) const {
    const T scaled = multiply_add(alpha, sum, T{0});
    return y[in.at] = beta == T{0} ? scaled : multiply_add(beta, from[in.at], scaled);
  }
  __device__ __forceinline__ T operator()(index_t row, T sum) const { return put(read(row), sum); }
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
/// section 4.1). Reads 3 more values per row. x is in the order of the rows, whatever the place of the others, unless
/// the places say otherwise.
template <class T>
struct jacobi_step {
  T omega;
  const T* x;
  const T* b;
  const T* inverse_diagonal;
  T* y;
  row_places place = {};
  static constexpr bool reads_more = true;

  __device__ __forceinline__ void fetch(index_t row) const {
    if (place.order != nullptr) return place.fetch(row);
    prefetch_l2(b + row);
    prefetch_l2(inverse_diagonal + row);
  }
  struct inputs {
    index_t at;
    T inverse_diagonal, b, x;
  };
  __device__ __forceinline__ inputs read(index_t row) const {
    const index_t at = place(row);
    return {at, __ldg(inverse_diagonal + at), __ldg(b + at), __ldg(x + (place.x_too ? at : row))};
  }
  __device__ __forceinline__ void put(const inputs& in, T sum) const {
    y[in.at] = fma(omega * in.inverse_diagonal, in.b - sum, in.x);
  }
  __device__ __forceinline__ void operator()(index_t row, T sum) const { put(read(row), sum); }
  __device__ __forceinline__ void shared_row(index_t /*slot*/, index_t row, T sum) const { (*this)(row, sum); }
  __device__ __forceinline__ void finish() const {}
};

/// Where the blocks of a launch leave their shares of two dot products; a share is a pair of values. Where shares
/// arrive by themselves one that is not there yet is `missing`, so that its arrival needs no counter and no fence: the
/// last block of every group of `together` waits for the shares of its group, adds them and leaves the sum; the last
/// block of the grid adds those of groups and, so that it waits once, those of the blocks from `direct` on, which run
/// beside it, and writes the result. What was read is missing again before the next launch. Blocks that wait are fewer
/// than multiprocessors, so that others always run.
struct dot_shares {
  double* share;           // of each block, then of each shared row (0 where unused), then of each group
  std::int64_t count;      // of blocks and shared rows: what is to be added
  std::int64_t first_row;  // place of shared row 0; 0 where a row is named by its first block, which leaves no share
  unsigned together = 0;   // a power of 2; 0: who comes behind the launch adds all
  unsigned direct = 0;     // a multiple of `together`
  bool left = false;       // the sums of groups stay as they are

  __device__ __forceinline__ double* of_block(std::int64_t i) const { return share + 2 * i; }
  __device__ __forceinline__ double* of_shared_row(std::int64_t slot) const { return of_block(first_row + slot); }
  __device__ __forceinline__ double* of_group(std::int64_t i) const { return of_block(count + i); }
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

/// The bits of a share that has not arrived: a NaN that no arithmetic makes.
constexpr long long missing_share = -1;

/// `sum` arrives. Of NaNs only the usual one does.
__device__ __forceinline__ void leave_share(double* to, double sum) {
  const double value = sum == sum ? sum : __longlong_as_double(0x7ff8000000000000);
  asm volatile("st.relaxed.gpu.global.f64 [%0], %1;" ::"l"(to), "d"(value) : "memory");
}

/// Waits for the shares of `members` blocks from `first` on and of the first `groups` groups; adds the thread's part of
/// them to a and b, and makes them missing.
__device__ __forceinline__ void take_shares(const dot_shares& shares, unsigned first, int members, int groups,
                                            double& a, double& b) {
  constexpr int flight = 4;
  const int all = members + groups, step = static_cast<int>(blockDim.x);
  for (int i = static_cast<int>(threadIdx.x); i < all; i += flight * step) {
    double* from[flight];
    double v[flight][2];
#pragma unroll
    for (int f = 0; f < flight; ++f) {
      const int at = i + f * step;
      from[f] = at < members ? shares.of_block(first + at) : shares.of_group(at - members);
      v[f][0] = v[f][1] = 0;
    }
    bool arrived;
    do {
      arrived = true;
#pragma unroll
      for (int f = 0; f < flight; ++f) {
        if (i + f * step >= all) continue;
        asm volatile("ld.relaxed.gpu.global.v2.f64 {%0, %1}, [%2];"
                     : "=d"(v[f][0]), "=d"(v[f][1])
                     : "l"(from[f])
                     : "memory");
      }
#pragma unroll
      for (int f = 0; f < flight; ++f) {
        arrived =
            arrived && __double_as_longlong(v[f][0]) != missing_share && __double_as_longlong(v[f][1]) != missing_share;
      }
    } while (!arrived);
#pragma unroll
    for (int f = 0; f < flight; ++f) {
      a += v[f][0];
      b += v[f][1];
      if (i + f * step < all) *reinterpret_cast<longlong2*>(from[f]) = {missing_share, missing_share};
    }
  }
}

/// scale_and_store, and dots = {w . y, y . y}, summed in f64 in an order that depends on the grid alone. Reads 1 more
/// value per row. blockDim.x is a multiple of 32. `Arrives`: shares may arrive by themselves.
template <class T, bool Arrives = true>
struct store_with_dots {
  scale_and_store<T> store;
  const T* w;
  dot_results dots;
  dot_shares shares;
  double wy = 0;
  double yy = 0;
  bool awaited = false;  // the block's share comes from elsewhere
  static constexpr bool reads_more = true;

  struct inputs {
    typename scale_and_store<T>::inputs store;
    T w;
  };
  __device__ __forceinline__ inputs read(index_t row) const {
    const auto in = store.read(row);
    return {in, __ldg(w + in.at)};
  }
  __device__ __forceinline__ void put(const inputs& in, T sum) {
    const double y = store.put(in.store, sum);
    wy = fma(static_cast<double>(in.w), y, wy);
    yy = fma(y, y, yy);
  }
  __device__ __forceinline__ void fetch(index_t row) const {
    if (store.place.order != nullptr) return store.fetch(row);
    prefetch_l2(w + row);
  }
  __device__ __forceinline__ void operator()(index_t row, T sum) { put(read(row), sum); }
  __device__ __forceinline__ void shared_row(index_t slot, index_t row, T sum) const {
    const inputs in = read(row);
    const double y = store.put(in.store, sum);
    double* const share = shares.of_shared_row(slot);
    leave_share(share, static_cast<double>(in.w) * y);
    leave_share(share + 1, y * y);
  }
  /// The calling block is the first of those that share a row, and named it so.
  __device__ __forceinline__ void await_share() { awaited = true; }
  __device__ __forceinline__ void finish() {
    start_dependents();
    leave(block_sum_pair(wy, yy));
  }
  /// finish() where the first `Lanes` threads have all that is to be added.
  template <int Lanes>
  __device__ __forceinline__ void finish_of_lanes() {
    start_dependents();
    double a = wy, b = yy;
    if (threadIdx.x < 32) {
#pragma unroll
      for (int d = Lanes / 2; d > 0; d /= 2) {
        a += __shfl_xor_sync(full_warp, a, d);
        b += __shfl_xor_sync(full_warp, b, d);
      }
    }
    leave(threadIdx.x == 0 ? a : b);
  }
  /// The warp's sums in lanes 0 to 15 and in the others; the lanes begin anew.
  __device__ __forceinline__ double take_warp_sum() {
    const double sum = warp_sum_pair(wy, yy);
    wy = yy = 0;
    return sum;
  }

 private:
  /// Threads 0 and 1 have the block's share.
  __device__ __forceinline__ void leave(double sum) {
    if constexpr (Arrives) {
      const unsigned block = blockIdx.x;
      if (shares.together > 0) {
        if (block + 1 == gridDim.x) return add_up(sum, shares.direct);
        const unsigned first = block & ~(shares.together - 1);
        if (block + 1 == first + shares.together && block < shares.direct) return add_up(sum, first);
      }
    }
    if (threadIdx.x < 2 && !awaited) leave_share(shares.of_block(blockIdx.x) + threadIdx.x, sum);
  }
  /// Threads 0 and 1 have the block's own share. The blocks to wait for begin with `first`.
  __device__ __forceinline__ void add_up(double own, unsigned first) {
    const bool last = !shares.left && blockIdx.x + 1 == gridDim.x;
    wy = threadIdx.x == 0 ? own : 0;
    yy = threadIdx.x == 1 ? own : 0;
    const int members = static_cast<int>(blockIdx.x - first) + (awaited ? 1 : 0);
    take_shares(shares, first, members, last ? static_cast<int>(first / shares.together) : 0, wy, yy);
    __syncthreads();
    const double sum = block_sum_pair(wy, yy);
    if (threadIdx.x >= 2) return;
    if (last)
      dots.set(static_cast<int>(threadIdx.x), sum);
    else
      leave_share(shares.of_group(first / shares.together) + threadIdx.x, sum);
  }
};

}  // namespace tulle::cuda
