// The place of a value in a list of those that there are.
#pragma once

#include <cstdint>

namespace tulle::cuda {

__device__ __forceinline__ std::uint64_t bits_of(double v) {
  return static_cast<std::uint64_t>(__double_as_longlong(v));
}
__device__ __forceinline__ std::uint32_t bits_of(float v) { return __float_as_uint(v); }

/// `list`: `count` values in increasing order of their bits, one of which is `value`.
template <class T>
__device__ std::uint8_t place_in(const T* list, int count, T value) {
  int low = 0, high = count - 1;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (bits_of(__ldg(list + middle)) < bits_of(value))
      low = middle + 1;
    else
      high = middle;
  }
  return static_cast<std::uint8_t>(low);
}

}  // namespace tulle::cuda
