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
  static constexpr bool streams = true;  // read once
  const S* data;

  __device__ __forceinline__ stored_values from(std::int64_t entry, int lane) const { return {data + entry + lane}; }
  __device__ __forceinline__ raw load(int /*position*/, int at) const { return load_stream(data + at); }
  __device__ __forceinline__ value of(raw r) const { return static_cast<V>(r); }
};

/// The upper half of an f32.
template <class V>
struct bf16_values {
  using raw = std::uint16_t;
  using value = V;
  static constexpr bool streams = true;
  const std::uint16_t* data;

  __device__ __forceinline__ bf16_values from(std::int64_t entry, int lane) const { return {data + entry + lane}; }
  __device__ __forceinline__ raw load(int /*position*/, int at) const { return load_stream(data + at); }
  __device__ __forceinline__ value of(raw r) const {
    return static_cast<V>(__uint_as_float(static_cast<std::uint32_t>(r) << 16));
  }
};

/// A byte, which numbers one of at most 256 values of S.
template <class S, class V = S>
struct listed_values {
  using raw = std::uint8_t;
  using value = V;
  static constexpr bool streams = true;
  const std::uint8_t* data;
  const S* list;

  __device__ __forceinline__ listed_values from(std::int64_t entry, int lane) const {
    return {data + entry + lane, list};
  }
  __device__ __forceinline__ raw load(int /*position*/, int at) const { return load_stream(data + at); }
  __device__ __forceinline__ value of(raw r) const { return static_cast<V>(__ldg(list + r)); }
};

/// Two words, whose sum the number is (kernels/value_words.hpp): the low one is signed.
struct words_values {
  struct raw {
    std::int32_t high, low;
  };
  using value = double;
  static constexpr bool streams = true;
  const std::int32_t* data;  // high
  const std::int32_t* low;

  __device__ __forceinline__ words_values from(std::int64_t entry, int lane) const {
    return {data + entry + lane, low + entry + lane};
  }
  __device__ __forceinline__ raw load(int /*position*/, int at) const {
    return {load_stream(data + at), load_stream(low + at)};
  }
  __device__ __forceinline__ value of(raw r) const { return __hiloint2double(r.high + (r.low >> 31), r.low); }
};

/// Of two words the high one alone.
struct high_values {
  using raw = std::int32_t;
  using value = double;
  static constexpr bool streams = true;
  const std::int32_t* data;

  __device__ __forceinline__ high_values from(std::int64_t entry, int lane) const { return {data + entry + lane}; }
  __device__ __forceinline__ raw load(int /*position*/, int at) const { return load_stream(data + at); }
  __device__ __forceinline__ value of(raw r) const { return __hiloint2double(r, 0); }
};

/// Numbers of S that several slices have, and that are kept close therefore.
template <class S, class V = S>
struct shared_values {
  using raw = S;
  using value = V;
  static constexpr bool streams = false;
  const S* data;

  __device__ __forceinline__ shared_values from(std::int64_t entry, int lane) const { return {data + entry + lane}; }
  __device__ __forceinline__ raw load(int /*position*/, int at) const { return __ldg(data + at); }
  __device__ __forceinline__ value of(raw r) const { return static_cast<V>(r); }
};

/// The same, one for all lanes of a position.
template <class S, class V = S>
struct position_values {
  using raw = S;
  using value = V;
  static constexpr bool streams = false;
  const S* data;

  __device__ __forceinline__ position_values from(std::int64_t entry, int /*lane*/) const { return {data + entry}; }
  __device__ __forceinline__ raw load(int position, int /*at*/) const { return __ldg(data + position); }
  __device__ __forceinline__ value of(raw r) const { return static_cast<V>(r); }
};

/// Either, as a slice says.
template <class S, class V = S>
struct repeated_values {
  using value = V;
  const S* data;
};

/// Halves times a power of two, which is exact in f32.
struct f16_values {
  using raw = std::uint16_t;
  using value = double;
  static constexpr bool streams = true;
  const std::uint16_t* data;
  float scale;

  __device__ __forceinline__ f16_values from(std::int64_t entry, int lane) const {
    return {data + entry + lane, scale};
  }
  __device__ __forceinline__ raw load(int /*position*/, int at) const { return load_stream(data + at); }
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
template <class S, class V, class F>
__device__ __forceinline__ void with_values_of(const packed_slice& s, const repeated_values<S, V>& values, F&& f) {
  if (s.alike != 0) return f(position_values<S, V>{values.data});
  f(shared_values<S, V>{values.data});
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
using repeated_f32_under_f64 = repeated_values<float, double>;

}  // namespace tulle::cuda
