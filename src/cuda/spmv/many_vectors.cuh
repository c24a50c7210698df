// How a kernel for several right-hand sides reads rows of X and stores rows of Y.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

#include "cuda/device/arithmetic.cuh"
#include "cuda/device/many_epilogue.cuh"
#include "kernels/row_lanes.hpp"
#include "kernels/spmv.hpp"

namespace tulle::cuda {

/// strided_vectors with the type of their elements.
template <class T>
struct typed_vectors {
  T* data;
  std::int64_t row_stride;
  std::int64_t vector_stride;

  explicit typed_vectors(const strided_vectors& v)
      : data(static_cast<T*>(v.data)), row_stride(v.row_stride), vector_stride(v.vector_stride) {}
  /// Element `row` of vector j.
  __device__ __forceinline__ T* at(std::int64_t row, index_t j) const {
    return data + row * row_stride + j * vector_stride;
  }
};

inline bool is_by_row(const strided_vectors& v) { return v.vector_stride == 1; }

/// By rows, and each aligned to 16 bytes.
template <class T>
bool is_wide(const strided_vectors& v) {
  constexpr std::int64_t each = 16 / sizeof(T), most_stride = std::numeric_limits<int>::max() / std::int64_t{sizeof(T)};
  return is_by_row(v) && reinterpret_cast<std::uintptr_t>(v.data) % 16 == 0 && v.row_stride % each == 0 &&
         v.row_stride <= most_stride;
}

/// `count` vectors from `first` on.
template <class T>
strided_vectors some_of(const strided_vectors& v, index_t first, index_t count) {
  if (v.data == nullptr) return {nullptr, count, 0, 0};
  return {static_cast<T*>(v.data) + first * v.vector_stride, count, v.row_stride, v.vector_stride};
}

/// Row-major X, its rows aligned to 16 bytes: a lane takes 16 bytes of a row, `across` lanes side by side.
template <class T>
struct wide_rows {
  static constexpr bool aligned = true;
  static constexpr int count = 16 / sizeof(T);  // columns of a lane
  const T* __restrict__ x;
  std::int64_t row_stride;
  index_t columns;  // a multiple of `count`

  /// The columns from `first` on.
  [[nodiscard]] __device__ __forceinline__ wide_rows from(index_t first) const {
    return {x + first, row_stride, columns - first};
  }
  /// Column i of lane `lane`.
  static __device__ __forceinline__ index_t column(int lane, int /*across*/, int i) { return lane * count + i; }
  struct reader {
    const T* from;
    std::int64_t row_stride;
    __device__ __forceinline__ void operator()(index_t row, T (&out)[count]) const {
      const int4 raw = __ldg(reinterpret_cast<const int4*>(from + row * row_stride));
      memcpy(out, &raw, 16);
    }
  };
  /// Lanes past the last column read the first ones.
  [[nodiscard]] __device__ __forceinline__ reader of(int lane, int /*across*/) const {
    return {x + (lane * count < columns ? lane * count : 0), row_stride};
  }
};

/// X anywhere: a lane takes `Count` columns, `across` apart.
template <class T, int Count>
struct strided_rows {
  static constexpr bool aligned = false;
  static constexpr int count = Count;
  const T* __restrict__ x;
  std::int64_t row_stride, vector_stride;
  index_t columns;

  [[nodiscard]] __device__ __forceinline__ strided_rows from(index_t first) const {
    return {x + first * vector_stride, row_stride, vector_stride, columns - first};
  }
  static __device__ __forceinline__ index_t column(int lane, int across, int i) { return i * across + lane; }
  struct reader {
    const T* from[Count];
    std::int64_t row_stride;
    __device__ __forceinline__ void operator()(index_t row, T (&out)[count]) const {
#pragma unroll
      for (int i = 0; i < Count; ++i) out[i] = __ldg(from[i] + row * row_stride);
    }
  };
  [[nodiscard]] __device__ __forceinline__ reader of(int lane, int across) const {
    reader r{{}, row_stride};
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      const index_t j = column(lane, across, i);
      r.from[i] = x + (j < columns ? j : 0) * vector_stride;
    }
    return r;
  }
};

/// Y = then(alpha s + beta Y), element by element: the one place where sums for several right-hand sides become Y.
template <class T>
struct scale_and_store_many {
  T alpha;
  T beta;
  typed_vectors<T> y;
  bool wide;  // rows of Y are contiguous and aligned to 16 bytes
  many_epilogue<T> then = {};

  scale_and_store_many(double alpha, double beta, const strided_vectors& y, const many_epilogue<T>& then = {})
      : alpha(static_cast<T>(alpha)), beta(static_cast<T>(beta)), y(y), wide(is_wide<T>(y)), then(then) {}
  /// Of the columns from `first` on, a multiple of 16 bytes where it is wide.
  [[nodiscard]] scale_and_store_many from(index_t first) const {
    scale_and_store_many rest = *this;
    if (y.data != nullptr) rest.y.data += first * y.vector_stride;
    rest.then = then.from(first);
    return rest;
  }
  __device__ __forceinline__ T put(index_t column, T sum, const T* old) const {
    const T scaled = multiply_add(alpha, sum, T{0});
    return then(beta == T{0} ? scaled : multiply_add(beta, *old, scaled), column);
  }
  __device__ __forceinline__ void operator()(std::int64_t row, index_t column, T sum) const {
    T* const to = y.at(row, column);
    *to = put(column, sum, to);
  }
  /// The 16 bytes from `column` on, a multiple of their number.
  __device__ __forceinline__ void store_wide(std::int64_t row, index_t column, const T* sum) const {
    constexpr int each = 16 / sizeof(T);
    auto* const to = reinterpret_cast<int4*>(y.at(row, column));
    T out[each] = {};
    if (beta != T{0}) {
      const int4 old = *to;
      memcpy(out, &old, 16);
    }
#pragma unroll
    for (int i = 0; i < each; ++i) out[i] = put(column + i, sum[i], out + i);
    int4 raw;
    memcpy(&raw, out, 16);
    *to = raw;
  }
  /// As many from `column` on as 16 bytes hold, however Y lies.
  __device__ __forceinline__ void store_each(index_t row, index_t column, const T* sum) const {
    constexpr int each = 16 / sizeof(T);
    if (wide) return store_wide(row, column, sum);
    for (int i = 0; i < each; ++i) (*this)(row, column + i, sum[i]);
  }
};

}  // namespace tulle::cuda
