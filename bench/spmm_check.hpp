// What the benchmark of several right-hand sides does on the device by itself: X, and whether Y is right.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <tulle/formats/views.hpp>

namespace tulle::bench {

/// Element i of vector j at data[i * row_stride + j * vector_stride].
template <class T>
struct placed {
  T* data;
  index_t rows, columns;
  std::int64_t row_stride, vector_stride;
};

/// Numbers in [-1, 1) that depend on their place alone.
template <class T>
void fill_random(const placed<T>& x, cudaStream_t stream);
template <class T>
void fill_random(T* values, std::int64_t count, cudaStream_t stream);

/// Largest |y - A x| over what ops/verify.hpp allows, for four of the columns; NaN counts as infinite. The reference is
/// summed in f64, and its own error is allowed too where y is f64. Waits.
template <class T>
double error_over_bound(csr_view<T, std::int32_t> a, const placed<const T>& x, const placed<const T>& y,
                        cudaStream_t stream);

}  // namespace tulle::bench
