#include <cmath>
#include <limits>

#include "spmm_check.hpp"

namespace tulle::bench {
namespace {

__device__ double random_number(std::uint64_t n) {
  n = (n ^ (n >> 31)) * 0x9e3779b97f4a7c15ull;
  n = (n ^ (n >> 27)) * 0xbf58476d1ce4e5b9ull;
  return static_cast<double>(static_cast<std::int64_t>((n ^ (n >> 32)) >> 11)) * 0x1p-52 - 1;
}

template <class T>
__global__ void fill(placed<T> x) {
  const std::int64_t all = std::int64_t{x.rows} * x.columns;
  for (std::int64_t k = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; k < all;
       k += std::int64_t{gridDim.x} * blockDim.x) {
    const bool by_row = x.vector_stride == 1;
    const std::int64_t i = by_row ? k / x.columns : k % x.rows, j = by_row ? k % x.columns : k / x.rows;
    x.data[i * x.row_stride + j * x.vector_stride] =
        static_cast<T>(random_number(static_cast<std::uint64_t>(i * 1031 + j + 1)));
  }
}

/// A warp takes a row.
template <class T>
__global__ void compare(csr_view<T, std::int32_t> a, placed<const T> x, placed<const T> y, unsigned long long* worst) {
  constexpr double unit = sizeof(T) == 8 ? 0x1p-52 : 0x1p-24;  // and the reference's own
  const int lane = static_cast<int>(threadIdx.x) % 32;
  double ratio = 0;
  for (std::int64_t i = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32; i < a.rows;
       i += std::int64_t{gridDim.x} * blockDim.x / 32) {
    double sum[4] = {}, size[4] = {};
    for (auto k = a.rowptr[i] + lane; k < a.rowptr[i + 1]; k += 32) {
      for (int c = 0; c < 4; ++c) {
        const std::int64_t j = std::int64_t{x.columns - 1} * c / 3;
        const double product =
            static_cast<double>(a.values[k]) * x.data[a.colind[k] * x.row_stride + j * x.vector_stride];
        sum[c] += product;
        size[c] += fabs(product);
      }
    }
    for (int c = 0; c < 4; ++c) {
      for (int d = 16; d > 0; d /= 2) {
        sum[c] += __shfl_xor_sync(~0u, sum[c], d);
        size[c] += __shfl_xor_sync(~0u, size[c], d);
      }
      const std::int64_t j = std::int64_t{x.columns - 1} * c / 3;
      const double allowed = unit * (a.rowptr[i + 1] - a.rowptr[i] + 2) * size[c];
      const double error = fabs(sum[c] - y.data[i * y.row_stride + j * y.vector_stride]);
      const double here = error == 0 ? 0 : error / allowed;
      ratio = here <= ratio ? ratio : here >= 0 ? here : INFINITY;
    }
  }
  if (lane == 0 && ratio > 0) atomicMax(worst, static_cast<unsigned long long>(__double_as_longlong(ratio)));
}

}  // namespace

template <class T>
void fill_random(const placed<T>& x, cudaStream_t stream) {
  fill<<<2048, 256, 0, stream>>>(x);
}
template <class T>
void fill_random(T* values, std::int64_t count, cudaStream_t stream) {
  fill<<<2048, 256, 0, stream>>>(placed<T>{values, 1, static_cast<index_t>(count), count, 1});
}

template <class T>
double error_over_bound(csr_view<T, std::int32_t> a, const placed<const T>& x, const placed<const T>& y,
                        cudaStream_t stream) {
  unsigned long long* worst = nullptr;
  double out = 0;
  cudaMallocAsync(&worst, sizeof(*worst), stream);
  cudaMemsetAsync(worst, 0, sizeof(*worst), stream);
  compare<<<2048, 128, 0, stream>>>(a, x, y, worst);
  cudaMemcpyAsync(&out, worst, sizeof(out), cudaMemcpyDeviceToHost, stream);
  cudaFreeAsync(worst, stream);
  return cudaStreamSynchronize(stream) == cudaSuccess ? out : INFINITY;
}

#define INSTANTIATE(T)                                                                                        \
  template void fill_random(const placed<T>&, cudaStream_t);                                                  \
  template void fill_random(T*, std::int64_t, cudaStream_t);                                                  \
  template double error_over_bound(csr_view<T, std::int32_t>, const placed<const T>&, const placed<const T>&, \
                                   cudaStream_t);
INSTANTIATE(float)
INSTANTIATE(double)

}  // namespace tulle::bench
