// Sums of rows whose products are in shared memory: 1 to 32 lanes per row, as many as let the block take all rows of
// its range at once; a row that is long for its lanes gets a whole warp.
#pragma once

#include <tulle/core/types.hpp>

#include "cuda/device/warp.cuh"

namespace tulle::cuda {

/// Products in shared memory with a gap after each 128 bytes: few bank conflicts for lanes that walk rows of equal
/// length.
template <class T>
struct padded_products {
  static constexpr int shift = sizeof(T) == 8 ? 4 : 5;
  template <int N>
  static constexpr int words = N + (N >> shift) + 1;
  T* data;
  __device__ __forceinline__ T& operator[](int k) const { return data[k + (k >> shift)]; }
};

/// The products from..to-1, `step` apart.
template <class T>
__device__ __forceinline__ T sum_products(padded_products<T> products, int from, int to, int step) {
  T sum{0};
#pragma unroll 4
  for (int k = from; k < to; k += step) sum = add(sum, products[k]);
  return sum;
}

/// The sum of v over a block of `Block` threads, in every thread.
template <int Block, class T>
__device__ __forceinline__ T sum_over_block(T v) {
  __shared__ T of_warp[Block / 32];
  v = warp_sum(v);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = v;
  __syncthreads();
  v = of_warp[0];
#pragma unroll
  for (int w = 1; w < Block / 32; ++w) v = add(v, of_warp[w]);
  return v;
}

/// Rows begin..end-1 and the lanes of each. Constructed before the products are complete, so that the loads of the
/// first offsets overlap with them. `products` starts at nonzero first_nonzero and has at most `MostProducts` values,
/// in which a row that goes on has been added up. A thread loads the offsets of `Batch` rows together.
template <int Block, int MostProducts, int Batch, class O>
class row_range {
 public:
  __device__ __forceinline__ row_range(const O* __restrict__ rowptr, O first_nonzero, index_t begin, index_t end)
      : rowptr_(rowptr + begin), first_nonzero_(first_nonzero), begin_(begin), rows_(end - begin) {
    const int needed = rows_ < 2 ? 0 : 32 - __clz(rows_ - 1);
    log_lanes_ = max(0, min(5, log_block - needed));
    load(0);
  }

  /// Calls epilogue(row, sum) in one thread per row.
  template <class T, class Epilogue>
  __device__ __forceinline__ void sum(padded_products<T> products, Epilogue& epilogue) {
    for (int first = 0; first < rows_;) {
#pragma unroll
      for (int i = 0; i < Batch; ++i) {
        if (first < rows_) sum_at_once(products, first, from_[i], to_[i], epilogue);
        first += Block >> log_lanes_;
      }
      if (first < rows_) load(first);
    }
  }

 private:
  static constexpr int log_block = Block == 64 ? 6 : Block == 128 ? 7 : Block == 256 ? 8 : Block == 512 ? 9 : 10;
  static_assert(Block == 1 << log_block);
  static constexpr int long_row = 32;  // products per lane

  __device__ __forceinline__ void load(int first) {
    int row = first + (static_cast<int>(threadIdx.x) >> log_lanes_);
#pragma unroll
    for (int i = 0; i < Batch; ++i) {
      from_[i] = to_[i] = 0;
      if (row < rows_) {
        from_[i] = static_cast<int>(rowptr_[row] - first_nonzero_);
        to_[i] = min(static_cast<int>(rowptr_[row + 1] - first_nonzero_), MostProducts);
      }
      row += Block >> log_lanes_;
    }
  }

  template <class T, class Epilogue>
  __device__ __forceinline__ void sum_at_once(padded_products<T> products, int first, int from, int to, Epilogue& epilogue) {
    const int lanes = 1 << log_lanes_;
    const int lane = threadIdx.x & (lanes - 1);
    const int warp_lane = lane_id();
    const int row = first + (static_cast<int>(threadIdx.x) >> log_lanes_);
    const bool is_long = to - from > long_row * lanes;
    T sum = sum_products(products, from + lane, is_long ? from : to, lanes);
    for (int d = lanes / 2; d > 0; d /= 2) sum = add(sum, __shfl_xor_sync(full_warp, sum, d));
    for (unsigned rest = __ballot_sync(full_warp, is_long && lane == 0); rest != 0; rest &= rest - 1) {
      const int owner = __ffs(static_cast<int>(rest)) - 1;
      const int owner_from = __shfl_sync(full_warp, from, owner);
      const int owner_to = __shfl_sync(full_warp, to, owner);
      const T whole = warp_sum(sum_products(products, owner_from + warp_lane, owner_to, 32));
      if (warp_lane == owner) sum = whole;
    }
    if (row < rows_ && lane == 0) epilogue(begin_ + row, sum);
  }

  const O* rowptr_;
  O first_nonzero_;
  index_t begin_;
  int rows_, log_lanes_, from_[Batch], to_[Batch];
};

}  // namespace tulle::cuda
