// The arithmetic of the kernels, one set of names for floating-point and (wrapping) integer values.
#pragma once

#include <cstdint>
#include <type_traits>

namespace tulle::cuda {

__device__ __forceinline__ float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
__device__ __forceinline__ double multiply_add(double a, double b, double c) { return fma(a, b, c); }
__device__ __forceinline__ std::int32_t multiply_add(std::int32_t a, std::int32_t b, std::int32_t c) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b) +
                                   static_cast<std::uint32_t>(c));
}

/// a b, rounded: never fused with a following addition.
__device__ __forceinline__ float rounded_product(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ double rounded_product(double a, double b) { return __dmul_rn(a, b); }
__device__ __forceinline__ std::uint32_t rounded_product(std::uint32_t a, std::uint32_t b) { return a * b; }
__device__ __forceinline__ std::int32_t rounded_product(std::int32_t a, std::int32_t b) { return multiply_add(a, b, 0); }

/// What sums are held in: the value type itself; unsigned for i32, whose sums are taken modulo 2^32.
template <class T>
using sum_of = std::conditional_t<std::is_same_v<T, std::int32_t>, std::uint32_t, T>;
template <class T>
__device__ __forceinline__ T add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using bits = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<bits>(a) + static_cast<bits>(b));
  } else {
    return a + b;
  }
}

}  // namespace tulle::cuda
