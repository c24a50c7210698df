// TULLE_TRY: store_with_dots in other ways. Bit 1: w early; bit 2: sums by products with ones; 4: no sums (wrong). 5: packed_short.cuh;
// 6: and 3.
#pragma once

#include <cstdlib>

#include "cuda/device/epilogue.cuh"

namespace tulle::cuda {

inline int tried() {
  static const int how = std::getenv("TULLE_TRY_DOTS") != nullptr ? std::atoi(std::getenv("TULLE_TRY_DOTS")) : 0;
  return how;
}
template <class T>
inline constexpr bool is_dots = false;
template <class T>
inline constexpr bool is_dots<store_with_dots<T, true>> = true;

/// The sum of v over the warp, in every lane: by two products of matrices with ones, as shuffles would take five steps.
__device__ __forceinline__ double warp_total(double v) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  double c, d;
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%4, %5};"
      : "=d"(c), "=d"(d)
      : "d"(1.0), "d"(v), "d"(0.0), "d"(0.0));
  const double of_two = c + d;
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%4, %5};"
      : "=d"(c), "=d"(d)
      : "d"(1.0), "d"(of_two), "d"(0.0), "d"(0.0));
  return c;
#else
  return warp_sum(v);
#endif
}

/// block_sum_pair by warp_total.
__device__ __forceinline__ double block_total_pair(double a, double b) {
  __shared__ double of_warp[64];
  const int warps = static_cast<int>(blockDim.x / 32), lane = lane_id();
  const double of_a = warp_total(a), of_b = warp_total(b);
  if (lane < 2) of_warp[threadIdx.x / 32 * 2 + lane] = lane == 0 ? of_a : of_b;
  __syncthreads();
  double total = 0;
  if (threadIdx.x < 2) {
#pragma unroll 4
    for (int w = 0; w < warps; ++w) total += of_warp[2 * w + lane];
  }
  return total;
}

/// scale_and_store, and dots = {w . y, y . y}, summed in f64 in an order that depends on the grid alone. Reads 1 more
/// value per row. blockDim.x is a multiple of 32. `Arrives`: shares may arrive by themselves.
template <class T, int How>
struct tried_dots {
  static constexpr bool Arrives = true;
  static constexpr int how = How;
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
  /// Early: w of the row comes to `to`, in shared memory, for the calling thread.
  __device__ __forceinline__ void bring(T* to, index_t row) const {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    if (store.place.order != nullptr) return;
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
                 "l"(w + row), "n"(sizeof(T))
                 : "memory");
#endif
  }
  /// operator() where w was brought.
  __device__ __forceinline__ void put_brought(const T* from, index_t row, T sum) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    if (store.place.order == nullptr) {
      asm volatile("cp.async.wait_all;" ::: "memory");
      return put({store.read(row), *from}, sum);
    }
#endif
    put(read(row), sum);
  }
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
    if constexpr (How == 4) return;  // what all the rest costs; wrong results
    if constexpr ((How & 2) != 0)
      leave(block_total_pair(wy, yy));
    else
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

/// Calls launch with what TULLE_TRY says, of at most Tries - 1.
template <int Tries, class V, class Epilogue, class F>
void with_tried(const Epilogue& e, const F& launch) {
  if constexpr (is_dots<Epilogue>) {
    const int how = tried();
    if constexpr (Tries > 4) if (how == 4) return launch(tried_dots<V, 4>{e.store, e.w, e.dots, e.shares});
    if constexpr (Tries > 3) if (how == 3 || how == 6) return launch(tried_dots<V, 3>{e.store, e.w, e.dots, e.shares});
    if constexpr (Tries > 2) if (how == 2) return launch(tried_dots<V, 2>{e.store, e.w, e.dots, e.shares});
    if (how == 1) return launch(tried_dots<V, 1>{e.store, e.w, e.dots, e.shares});
  }
  launch(e);
}

}  // namespace tulle::cuda
