// Several right-hand sides at once from CSR: row splitting as in Yang, Buluc and Owens (Euro-Par 2018, "Design
// principles for sparse matrix multiplication on the GPU"), for both orders of X. A group of lanes takes a row.
// Row-major X: neighbouring lanes take neighbouring vectors, so that a nonzero reads a contiguous piece of X; remaining
// lanes take other nonzeros of the row. Column-major X: every lane takes nonzeros of its own and up to 8 vectors, as
// neighbouring nonzeros tend to read neighbouring elements. The sums of the lanes are added by shuffles in a fixed
// order. Rows of more than `long_row` entries come last, walked by the whole block. Bytes per nonzero and pass:
// sizeof(T) + 4; plus one value per vector and row and per vector and column. A pass takes 32 to 128 vectors
// (row-major) or 8 (column-major). Taken by kernels that read the CSR in place where they were named, and at effort none;
// else csr.pieces and packed are. One block walks the longest row.
#include "core/instantiate.hpp"
#include "cuda/device/warp.cuh"
#include "cuda/spmv/csr_many.cuh"
#include "cuda/spmv/csr_operator.cuh"

namespace tulle::cuda {
namespace {

constexpr int block = 256;           // threads
constexpr int long_row = 2048;       // entries
constexpr int entries_per_lane = 4;  // about

/// How the lanes of a group are used: lane = (nonzero) * across + (vector).
struct group_shape {
  int across;  // lanes over vectors
  int lanes;   // of a group: across * (lanes over nonzeros); both powers of two
};

/// Adds to one lane's sums every `step`-th entry of a row.
template <int Vectors, class T, class O>
__device__ __forceinline__ void sum_entries(const csr_view<T, O>& a, O first, O end, int step, const T* __restrict__ x,
                                            std::int64_t row_stride, const std::int64_t (&at)[Vectors],
                                            T (&sum)[Vectors]) {
#pragma unroll 4
  for (O k = first; k < end; k += step) {
    const T value = __ldg(a.values + k);
    const T* const row = x + __ldg(a.colind + k) * row_stride;
#pragma unroll
    for (int i = 0; i < Vectors; ++i) sum[i] = multiply_add(value, __ldg(row + at[i]), sum[i]);
  }
}

template <int Vectors, class T, class O>
__global__ void __launch_bounds__(block) csr_many_kernel(csr_view<T, O> a, index_t count, group_shape shape, T alpha,
                                                         typed_vectors<const T> x, T beta, typed_vectors<T> y) {
  __shared__ T shared[block / 32][32];
  __shared__ index_t long_rows[block];
  const int group = static_cast<int>(threadIdx.x) / shape.lanes;
  const int groups = block / shape.lanes;
  const int lane = static_cast<int>(threadIdx.x) % shape.lanes;
  const int along = lane / shape.across;
  const int step = shape.lanes / shape.across;
  const std::int64_t row0 = std::int64_t{blockIdx.x} * groups;
  const std::int64_t row = row0 + group;
  const index_t tile = shape.across * Vectors;
  const O begin = row < a.rows ? a.rowptr[row] : O{0};
  const O end = row < a.rows ? a.rowptr[row + 1] : O{0};
  const bool is_long = end - begin > long_row;
  if (lane == 0) long_rows[group] = is_long ? 1 : 0;
  __syncthreads();

  for (index_t vector0 = lane % shape.across; vector0 < count + lane % shape.across; vector0 += tile) {
    std::int64_t at[Vectors];  // lanes past the last vector read the first one and store nothing
#pragma unroll
    for (int i = 0; i < Vectors; ++i) {
      const index_t vector = vector0 + i * shape.across;
      at[i] = (vector < count ? vector : 0) * x.vector_stride;
    }
    const auto store = [&](std::int64_t r, int i, T sum) {
      const index_t vector = vector0 + i * shape.across;
      if (vector >= count) return;
      T* const to = y.at(r, vector);
      const T scaled = multiply_add(alpha, sum, T{0});
      *to = beta == T{0} ? scaled : multiply_add(beta, *to, scaled);
    };

    T sum[Vectors] = {};
    if (!is_long) sum_entries(a, static_cast<O>(begin + along), end, step, x.data, x.row_stride, at, sum);
#pragma unroll
    for (int i = 0; i < Vectors; ++i) {
      for (int d = shape.across; d < shape.lanes; d *= 2) sum[i] = add(sum[i], __shfl_xor_sync(full_warp, sum[i], d));
      if (along == 0 && row < a.rows && !is_long) store(row, i, sum[i]);
    }

    for (int g = 0; g < groups; ++g) {  // the same for all threads of the block
      if (long_rows[g] == 0) continue;
      const std::int64_t r = row0 + g;
      const int first = static_cast<int>(threadIdx.x) / shape.across;
      T part[Vectors] = {};
      sum_entries(a, static_cast<O>(a.rowptr[r] + first), a.rowptr[r + 1], block / shape.across, x.data, x.row_stride,
                  at, part);
#pragma unroll
      for (int i = 0; i < Vectors; ++i) {
        for (int d = shape.across; d < 32; d *= 2) part[i] = add(part[i], __shfl_xor_sync(full_warp, part[i], d));
        __syncthreads();  // the previous sums have been read
        shared[threadIdx.x / 32][threadIdx.x % 32] = part[i];
        __syncthreads();
        if (static_cast<int>(threadIdx.x) < shape.across) {
          T total{0};
          for (int w = 0; w < block / 32; ++w) total = add(total, shared[w][threadIdx.x]);
          store(r, i, total);
        }
      }
    }
  }
}

/// Never more lanes than a warp.
group_shape shape_for(std::int64_t rows, std::int64_t nnz, int across) {
  group_shape shape{across, across};
  while (shape.lanes < 32 && nnz > entries_per_lane * rows * (shape.lanes / across)) shape.lanes *= 2;
  return shape;
}

}  // namespace

template <scalar T, offset O>
void csr_many(csr_view<T, O> a, double alpha, const strided_vectors& x, double beta, const strided_vectors& y,
              cudaStream_t stream) {
  const index_t count = x.count;
  if (count == 0) return;
  int across = 1;
  const bool by_row = x.vector_stride == 1;
  while (by_row && across < 32 && across < count) across *= 2;
  const group_shape shape = shape_for(a.rows, a.nnz, across);
  const index_t each = (count + across - 1) / across;  // vectors per lane
  with_constant<1, 2, 4, 8>(each, [&]<int Vectors>() {
    launch("csr_many", csr_many_kernel<Vectors, T, O>, threads_for(std::int64_t{a.rows} * shape.lanes, block), stream,
           a, count, shape, static_cast<T>(alpha), typed_vectors<const T>(x), static_cast<T>(beta),
           typed_vectors<T>(y));
  });
}

#define TULLE_INSTANTIATE(T, O) \
  template void csr_many(csr_view<T, O>, double, const strided_vectors&, double, const strided_vectors&, cudaStream_t);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle::cuda
