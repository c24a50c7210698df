// Up to 8 dot products in one pass: a grid that fills the device once, summed by grid_sum.cuh. A thread multiplies
// elements that are a grid apart, several of them loaded before the first is used, and adds in f64. Bytes per element:
// each pair's two, once; a vector that several pairs share comes from the L1 again.
#include "cuda/runtime/device_guard.hpp"
#include "cuda/vector/grid_sum.cuh"
#include "cuda/vector/vector.hpp"

namespace tulle::cuda {
namespace {

template <class T, int K>
struct dot_arrays {
  const T* x[K];
  const T* y[K];
};

template <class T, int K, int Unroll>
__global__ void __launch_bounds__(block_threads, blocks_per_multiprocessor)
    dots_kernel(const __grid_constant__ dot_arrays<T, K> pairs, std::int64_t n,
                const __grid_constant__ grid_sums sums) {
  double sum[K] = {};
  for (std::int64_t first = grid_thread(); first < n; first += Unroll * grid_stride()) {
    T x[K][Unroll], y[K][Unroll];
#pragma unroll
    for (int u = 0; u < Unroll; ++u) {
      const std::int64_t i = first + u * grid_stride();
#pragma unroll
      for (int k = 0; k < K; ++k) {
        const bool inside = i < n && k < sums.count;
        x[k][u] = inside ? pairs.x[k][i] : T{0};
        y[k][u] = inside ? pairs.y[k][i] : T{0};
      }
    }
#pragma unroll
    for (int u = 0; u < Unroll; ++u) {
#pragma unroll
      for (int k = 0; k < K; ++k) sum[k] = fma(static_cast<double>(x[k][u]), static_cast<double>(y[k][u]), sum[k]);
    }
  }
  sums.finish(sum);
}

template <class T, int K, int Unroll>
void launch_dots(const vector_work& work, std::span<const dot_operand> pairs, bool root, void* results) {
  dot_arrays<T, K> arrays{};
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    arrays.x[k] = static_cast<const T*>(pairs[k].x);
    arrays.y[k] = static_cast<const T*>(pairs[k].y);
  }
  const grid_sums sums{work.workspace, results, work.sum_type, static_cast<int>(pairs.size()), root};
  launch("dots", dots_kernel<T, K, Unroll>, vector_grid(work, Unroll), native(work.stream), arrays, work.n, sums);
}

}  // namespace

std::size_t vector_workspace_bytes(const context& ctx) {
  const auto blocks = static_cast<std::size_t>(ctx.info().multiprocessors) * blocks_per_multiprocessor;
  return sizeof(double) * (1 + blocks * most_dots);
}

void dot_vectors(const vector_work& work, std::span<const dot_operand> pairs, bool root, void* results) {
  const device_guard guard(work.ctx.device());
  dispatch<type_set::floating>({work.type}, [&]<class T, class>() {
    if (pairs.size() == 1) return launch_dots<T, 1, 4>(work, pairs, root, results);
    if (pairs.size() == 2) return launch_dots<T, 2, 2>(work, pairs, root, results);
    if (pairs.size() <= 4) return launch_dots<T, 4, 2>(work, pairs, root, results);
    launch_dots<T, most_dots, 1>(work, pairs, root, results);
  });
}

}  // namespace tulle::cuda
