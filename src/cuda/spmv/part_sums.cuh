// The sums of parts of cut rows, and the kernel that adds them.
#pragma once

#include "cuda/device/arithmetic.cuh"
#include "cuda/spmv/many_vectors.cuh"
#include "cuda/spmv/row_pieces.cuh"

namespace tulle::cuda {

/// Of each part `columns` values, at the places that row_pieces gives them.
template <class T>
struct part_sums {
  T* data;
  index_t columns;
  __device__ __forceinline__ T* at(std::int32_t place) const { return data + std::int64_t{place} * columns; }
};

/// A block adds the parts of a cut row for `width` columns, a power of two: thread = (part) * width + (column).
/// blockIdx.y: which columns.
template <class T>
__global__ void __launch_bounds__(256)
    cut_rows_kernel(const cut_row* cuts, part_sums<T> parts, int width, scale_and_store_many<T> store) {
  __shared__ T shared[256];
  const cut_row cut = cuts[blockIdx.x];
  const int lane = static_cast<int>(threadIdx.x) % width, begin = static_cast<int>(threadIdx.x) / width;
  const int step = 256 / width;
  const index_t column = static_cast<index_t>(blockIdx.y) * width + lane;
  const bool live = column < parts.columns;
  T sum{0};
  if (live) {
#pragma unroll 8
    for (int i = begin; i < cut.parts; i += step) sum = add(sum, parts.at(cut.first + i)[column]);
  }
  shared[threadIdx.x] = sum;
  __syncthreads();
  if (begin != 0 || !live) return;
  for (int j = 1; j < step; ++j) sum = add(sum, shared[j * width + lane]);
  store(cut.row, column, sum);
}

}  // namespace tulle::cuda
