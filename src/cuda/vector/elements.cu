// fill, copy, gather, scatter, random numbers and other types: grid-stride loops, one element per thread and round.
// Bytes per element: those of y, of x (by sectors of 32 where it is gathered from or scattered to) and of the number of
// the element.
#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/launch.cuh"
#include "cuda/vector/vector.hpp"

namespace tulle::cuda {
namespace {

template <class T>
__global__ void fill_kernel(const __grid_constant__ coefficient_operand value, std::int64_t n, T* y) {
  const T v = static_cast<T>(value.get());
  for (std::int64_t i = grid_thread(); i < n; i += grid_stride()) y[i] = v;
}

template <class T, class O>
__global__ void gather_kernel(const O* from, const T* x, std::int64_t n, T* y) {
  for (std::int64_t i = grid_thread(); i < n; i += grid_stride()) y[i] = x[from[i]];
}

template <class T, class O>
__global__ void scatter_kernel(const O* to, const T* x, std::int64_t n, T* y) {
  for (std::int64_t i = grid_thread(); i < n; i += grid_stride()) y[to[i]] = x[i];
}

template <class T>
__global__ void random_kernel(std::uint64_t key, std::int64_t n, T* y) {
  for (std::int64_t i = grid_thread(); i < n; i += grid_stride()) {
    y[i] = random_element<T>(key, static_cast<std::uint64_t>(i));
  }
}

template <class X, class Y>
__global__ void convert_kernel(double a, std::int64_t n, const X* x, bool adds, Y* y) {
  for (std::int64_t i = grid_thread(); i < n; i += grid_stride()) {
    y[i] = static_cast<Y>(fma(a, static_cast<double>(x[i]), adds ? static_cast<double>(y[i]) : 0.0));
  }
}

template <class... Parameters, class... Args>
void launch_elements(const vector_work& work, const char* name, void (*kernel)(Parameters...), const Args&... args) {
  const device_guard guard(work.ctx.device());
  launch(name, kernel, bounded(work.ctx, threads_for(work.n)), native(work.stream), args...);
}

}  // namespace

void fill_vector(const vector_work& work, const coefficient_operand& value, void* y) {
  dispatch<type_set::all>({work.type}, [&]<class T, class>() {
    launch_elements(work, "fill", fill_kernel<T>, value, work.n, static_cast<T*>(y));
  });
}

void copy_vector(const vector_work& work, const void* x, void* y) {
  if (work.n == 0) return;
  const device_guard guard(work.ctx.device());
  const std::size_t bytes = static_cast<std::size_t>(work.n) * size_of(work.type);
  check(cudaMemcpyAsync(y, x, bytes, cudaMemcpyDeviceToDevice, native(work.stream)), "cudaMemcpyAsync",
        status::cuda_memcpy);
}

void gather_vector(const vector_work& work, offset_type type, const void* from, const void* x, void* y) {
  dispatch<type_set::all>({work.type, type}, [&]<class T, class O>() {
    launch_elements(work, "gather", gather_kernel<T, O>, static_cast<const O*>(from), static_cast<const T*>(x), work.n,
                    static_cast<T*>(y));
  });
}

void scatter_vector(const vector_work& work, offset_type type, const void* to, const void* x, void* y) {
  dispatch<type_set::all>({work.type, type}, [&]<class T, class O>() {
    launch_elements(work, "scatter", scatter_kernel<T, O>, static_cast<const O*>(to), static_cast<const T*>(x), work.n,
                    static_cast<T*>(y));
  });
}

void random_vector(const vector_work& work, std::uint64_t key, void* y) {
  dispatch<type_set::floating>({work.type}, [&]<class T, class>() {
    launch_elements(work, "random", random_kernel<T>, key, work.n, static_cast<T*>(y));
  });
}

void convert_vector(const vector_work& work, double a, scalar_type from, const void* x, bool adds, void* y) {
  dispatch<type_set::floating>({from}, [&]<class X, class>() {
    dispatch<type_set::floating>({work.type}, [&]<class Y, class>() {
      launch_elements(work, "convert", convert_kernel<X, Y>, a, work.n, static_cast<const X*>(x), adds,
                      static_cast<Y*>(y));
    });
  });
}

}  // namespace tulle::cuda
