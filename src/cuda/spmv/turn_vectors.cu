// Row-major X of column-major vectors, and column-major Y of row-major sums, through shared memory: what a kernel that
// gathers rows of X needs, as a vector's elements of one row lie in sectors of their own. A block turns `tile`
// elements: up to 32 columns of as many rows. Bytes: 2 an element.
#include <algorithm>

#include "core/instantiate.hpp"
#include "cuda/runtime/launch.cuh"
#include "cuda/spmv/turn_vectors.cuh"

namespace tulle::cuda {
namespace {

constexpr int threads = 256, tile_log2 = 11, tile = 1 << tile_log2, most_columns = 32;

/// Up to 2^log2 columns of tile / 2^log2 rows; a row of the tile is padded against bank conflicts.
struct tile_shape {
  int log2;
  [[nodiscard]] __host__ __device__ int width() const { return 1 << log2; }
  [[nodiscard]] __host__ __device__ int height() const { return tile >> log2; }
  [[nodiscard]] __device__ int at(int i, int j) const { return j * (height() + 1) + i; }
  /// Of element e along the columns of the tile, or along its rows.
  [[nodiscard]] __device__ int2 down(int e) const { return {e & (height() - 1), e >> (tile_log2 - log2)}; }
  [[nodiscard]] __device__ int2 along(int e) const { return {e >> log2, e & (width() - 1)}; }
};

template <class T>
__global__ void __launch_bounds__(threads)
    rows_of_vectors_kernel(typed_vectors<const T> from, index_t rows, index_t columns, tile_shape shape, T* to,
                           std::int64_t row_stride) {
  __shared__ T shared[tile + most_columns];
  start_dependents();
  const std::int64_t row0 = std::int64_t{blockIdx.x} * shape.height();
  const index_t column0 = static_cast<index_t>(blockIdx.y) * shape.width();
#pragma unroll
  for (int n = 0; n < tile; n += threads) {
    const int e = n + static_cast<int>(threadIdx.x);
    const auto [i, j] = shape.down(e);
    if (row0 + i >= rows) continue;
    shared[shape.at(i, j)] = column0 + j < columns ? __ldg(from.at(row0 + i, column0 + j)) : T{0};
  }
  __syncthreads();
#pragma unroll
  for (int n = 0; n < tile; n += threads) {
    const int e = n + static_cast<int>(threadIdx.x);
    const auto [i, j] = shape.along(e);
    if (row0 + i < rows && column0 + j < row_stride) to[(row0 + i) * row_stride + column0 + j] = shared[shape.at(i, j)];
  }
}

template <class T>
__global__ void __launch_bounds__(threads)
    vectors_of_rows_kernel(const T* __restrict__ from, std::int64_t row_stride, index_t rows, index_t columns,
                           tile_shape shape, scale_and_store_many<T> store) {
  __shared__ T shared[tile + most_columns];
  await_previous_grid();
  const std::int64_t row0 = std::int64_t{blockIdx.x} * shape.height();
  const index_t column0 = static_cast<index_t>(blockIdx.y) * shape.width();
#pragma unroll
  for (int n = 0; n < tile; n += threads) {
    const int e = n + static_cast<int>(threadIdx.x);
    const auto [i, j] = shape.along(e);
    if (row0 + i < rows && column0 + j < columns)
      shared[shape.at(i, j)] = __ldg(from + (row0 + i) * row_stride + column0 + j);
  }
  __syncthreads();
#pragma unroll
  for (int n = 0; n < tile; n += threads) {
    const int e = n + static_cast<int>(threadIdx.x);
    const auto [i, j] = shape.down(e);
    if (row0 + i < rows && column0 + j < columns) store(row0 + i, column0 + j, shared[shape.at(i, j)]);
  }
}

tile_shape shape_for(index_t columns) {
  tile_shape shape{0};
  while (shape.width() < most_columns && shape.width() < columns) ++shape.log2;
  return shape;
}

launch_shape tiles(index_t rows, index_t columns, tile_shape shape) {
  return {ceil_div(rows, shape.height()), threads, 0, ceil_div(columns, shape.width())};
}

}  // namespace

template <class T>
void rows_of_vectors(const typed_vectors<const T>& from, index_t rows, index_t columns, T* to, std::int64_t row_stride,
                     cudaStream_t stream) {
  const auto width = static_cast<index_t>(row_stride);
  const tile_shape shape = shape_for(width);
  launch("rows_of_vectors", rows_of_vectors_kernel<T>, tiles(rows, width, shape), stream, from, rows, columns, shape,
         to, row_stride);
}

template <class T>
void vectors_of_rows(const T* from, std::int64_t row_stride, index_t rows, index_t columns,
                     const scale_and_store_many<T>& store, bool behind, cudaStream_t stream) {
  const tile_shape shape = shape_for(columns);
  launch("vectors_of_rows", vectors_of_rows_kernel<T>, tiles(rows, columns, shape), behind, stream, from, row_stride,
         rows, columns, shape, store);
}

#define TULLE_INSTANTIATE(T)                                                                                      \
  template void rows_of_vectors(const typed_vectors<const T>&, index_t, index_t, T*, std::int64_t, cudaStream_t); \
  template void vectors_of_rows(const T*, std::int64_t, index_t, index_t, const scale_and_store_many<T>&, bool,   \
                                cudaStream_t);
TULLE_FOR_EACH_VALUE(TULLE_INSTANTIATE)
#undef TULLE_INSTANTIATE

}  // namespace tulle::cuda
