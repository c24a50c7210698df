// Vectors by 16 bytes, and sums that blocks left in pairs.
#pragma once

#include <cstdint>

namespace tulle::cuda {

/// 16 bytes of a vector.
template <class T>
struct alignas(16) quad {
  static constexpr int size = 16 / sizeof(T);
  T v[size];
};

template <class T>
__device__ __forceinline__ quad<T> load_streaming(const quad<T>* from) {
  const int4 bits = __ldcs(reinterpret_cast<const int4*>(from));
  return reinterpret_cast<const quad<T>&>(bits);
}
template <class T>
__device__ __forceinline__ quad<T> load_l2(const quad<T>* from) {
  const int4 bits = __ldcg(reinterpret_cast<const int4*>(from));
  return reinterpret_cast<const quad<T>&>(bits);
}
template <class T>
__device__ __forceinline__ void axpy(T factor, const quad<T>& x, quad<T>& y) {
#pragma unroll
  for (int v = 0; v < quad<T>::size; ++v) y.v[v] = fma(factor, x.v[v], y.v[v]);
}

/// Adds the pairs first, first + step, ... to a and b.
__device__ __forceinline__ void add_pairs(const double* pairs, std::int64_t first, std::int64_t end, std::int64_t step,
                                          double& a, double& b) {
#pragma unroll 8
  for (std::int64_t i = first; i < end; i += step) {
    const double2 pair = __ldcg(reinterpret_cast<const double2*>(pairs) + i);
    a += pair.x;
    b += pair.y;
  }
}

}  // namespace tulle::cuda
