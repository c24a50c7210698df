// y = a x + b y, of one or two vectors in one pass or with a diagonal matrix at x, with w . y and y . y where they are
// asked for: a grid that fills
// the device once, summed by grid_sum.cuh. A thread updates elements that are a grid apart, several of them loaded
// before the first is used. Bytes per element: x and w read, y read (unless b = 0) and written, once.
#include "cuda/runtime/device_guard.hpp"
#include "cuda/vector/grid_sum.cuh"
#include "cuda/vector/vector.hpp"

namespace tulle::cuda {
namespace {

/// Elements that a thread loads before it uses the first, of each vector.
constexpr int unroll_of(int terms) { return terms == 1 ? 4 : 2; }

template <class T, int Terms>
struct update_arrays {
  coefficient_operand a[Terms];
  coefficient_operand b[Terms];
  const T* x[Terms];  // null: y = b y
  T* y[Terms];
  const T* w;  // null: the last y
  const T* d;  // what x is multiplied by where Scaled
};

template <class T, int Terms, bool Dots, bool Scaled>
__global__ void __launch_bounds__(block_threads, blocks_per_multiprocessor)
    update_kernel(const __grid_constant__ update_arrays<T, Terms> terms, std::int64_t n,
                  const __grid_constant__ grid_sums sums) {
  constexpr int unroll = unroll_of(Terms);
  T a[Terms], b[Terms];
#pragma unroll
  for (int t = 0; t < Terms; ++t) {
    a[t] = static_cast<T>(terms.a[t].get());
    b[t] = static_cast<T>(terms.b[t].get());
  }
  double dots[2] = {};
  for (std::int64_t first = grid_thread(); first < n; first += unroll * grid_stride()) {
    T x[Terms][unroll], y[Terms][unroll], w[unroll], d[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const std::int64_t i = first + u * grid_stride();
#pragma unroll
      for (int t = 0; t < Terms; ++t) {
        x[t][u] = i < n && terms.x[t] != nullptr ? terms.x[t][i] : T{0};
        y[t][u] = i < n && b[t] != T{0} ? terms.y[t][i] : T{0};
      }
      if constexpr (Dots) w[u] = i < n && terms.w != nullptr ? terms.w[i] : T{0};
      if constexpr (Scaled) d[u] = i < n ? terms.d[i] : T{0};
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const std::int64_t i = first + u * grid_stride();
      if (i >= n) break;
#pragma unroll
      for (int t = 0; t < Terms; ++t) {
        if constexpr (Scaled) x[t][u] *= d[u];
        const T ax = terms.x[t] == nullptr ? T{0} : a[t] * x[t][u];
        y[t][u] = b[t] == T{0} ? ax : fma(b[t], y[t][u], ax);
        terms.y[t][i] = y[t][u];
      }
      if constexpr (Dots) {
        const auto last = static_cast<double>(y[Terms - 1][u]);
        dots[0] = fma(terms.w == nullptr ? last : static_cast<double>(w[u]), last, dots[0]);
        dots[1] = fma(last, last, dots[1]);
      }
    }
  }
  if constexpr (Dots) sums.finish(dots);
}

template <class T, int Terms, bool Scaled = false>
void launch_update(const vector_work& work, std::span<const update_operand> terms, const void* w, void* dots) {
  update_arrays<T, Terms> arrays{};
  for (int t = 0; t < Terms; ++t) {
    arrays.a[t] = terms[t].a;
    arrays.b[t] = terms[t].b;
    arrays.x[t] = static_cast<const T*>(terms[t].x);
    arrays.y[t] = static_cast<T*>(terms[t].y);
  }
  arrays.w = static_cast<const T*>(w);
  arrays.d = static_cast<const T*>(terms[0].d);
  const grid_sums sums{work.workspace, dots, work.sum_type, 2};
  const auto kernel = dots == nullptr ? update_kernel<T, Terms, false, Scaled> : update_kernel<T, Terms, true, Scaled>;
  launch("update", kernel, vector_grid(work, unroll_of(Terms)), native(work.stream), arrays, work.n, sums);
}

}  // namespace

void update_vectors(const vector_work& work, std::span<const update_operand> terms, const void* w, void* dots) {
  if (work.n == 0 && dots == nullptr) return;
  const device_guard guard(work.ctx.device());
  dispatch<type_set::floating>({work.type}, [&]<class T, class>() {
    if (terms.front().d != nullptr) return launch_update<T, 1, true>(work, terms, w, dots);
    if (terms.size() == 1) return launch_update<T, 1>(work, terms, w, dots);
    launch_update<T, 2>(work, terms, w, dots);
  });
}

}  // namespace tulle::cuda
