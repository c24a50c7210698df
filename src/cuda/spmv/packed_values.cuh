// How the packed kernels read values that are stored in fewer bytes than they are used in. A kernel loads `raw` where
// it loads offsets, and makes a number of it where it multiplies, so that the loads of several positions overlap.
#pragma once

#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>
#include <tulle/core/types.hpp>

#include "cuda/device/load.cuh"
#include "cuda/spmv/packed_format.cuh"

namespace tulle::cuda {

/// Numbers of S, used as numbers of V.
template <class S, class V = S>
struct stored_values {
  using raw = S;
  using value = V;
  const S* data;

  __device__ __forceinline__ stored_values from(std::int64_t entry) const { return {data + entry}; }
  __device__ __forceinline__ raw load(int at) const { return load_stream(data + at); }
  __device__ __forceinline__ value of(raw r) const { return static_cast<V>(r); }
};

/// The upper half of an f32.
template <class V>
struct bf16_values {
  using raw = std::uint16_t;
  using value = V;
  const std::uint16_t* data;

  __device__ __forceinline__ bf16_values from(std::int64_t entry) const { return {data + entry}; }
  __device__ __forceinline__ raw load(int at) const { return load_stream(data + at); }
  __device__ __forceinline__ value of(raw r) const {
    return static_cast<V>(__uint_as_float(static_cast<std::uint32_t>(r) << 16));
  }
};

/// A byte, which numbers one of at most 256 values of S.
template <class S, class V = S>
struct listed_values {
  using raw = std::uint8_t;
  using value = V;
  const std::uint8_t* data;
  const S* list;

  __device__ __forceinline__ listed_values from(std::int64_t entry) const { return {data + entry, list}; }
  __device__ __forceinline__ raw load(int at) const { return load_stream(data + at); }
  __device__ __forceinline__ value of(raw r) const { return static_cast<V>(__ldg(list + r)); }
};

/// Halves times a power of two, which is exact in f32.
struct f16_values {
  using raw = std::uint16_t;
  using value = double;
  const std::uint16_t* data;
  float scale;

  __device__ __forceinline__ f16_values from(std::int64_t entry) const { return {data + entry, scale}; }
  __device__ __forceinline__ raw load(int at) const { return load_stream(data + at); }
  __device__ __forceinline__ value of(raw r) const {
    return static_cast<double>(__half2float(__ushort_as_half(r)) * scale);
  }
};

/// f64, f32 or f16, as a slice says.
struct sliced_values {
  using value = double;
  const std::byte* data;
};

/// Calls f with what reads the values of a slice.
template <class Values, class F>
__device__ __forceinline__ void with_values_of(const packed_slice& /*s*/, const Values& values, F&& f) {
  f(values);
}
template <class F>
__device__ __forceinline__ void with_values_of(const packed_slice& s, const sliced_values& values, F&& f) {
  if (s.form == whole_form) return f(stored_values<double>{reinterpret_cast<const double*>(values.data)});
  if (s.form == f32_form) {
    return f(stored_values<float, double>{reinterpret_cast<const float*>(values.data)});
  }
  f(f16_values{reinterpret_cast<const std::uint16_t*>(values.data), f16_scale(s.form)});
}

using f32_under_f64 = stored_values<float, double>;
using listed_f32_under_f64 = listed_values<float, double>;

}  // namespace tulle::cuda
