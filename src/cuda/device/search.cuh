// Binary searches in ascending numbers.
#pragma once

#include <cstdint>
#include <tulle/core/types.hpp>

namespace tulle::cuda {

/// Position of the first of n ascending numbers that is not below `value`.
template <class T>
__device__ std::int64_t lower_bound(const T* numbers, std::int64_t n, T value) {
  std::int64_t low = 0;
  while (low < n) {
    const std::int64_t middle = low + (n - low) / 2;
    if (numbers[middle] < value) {
      low = middle + 1;
    } else {
      n = middle;
    }
  }
  return low;
}

/// The row that holds entry k, given rowptr[low] <= k and that it is before row `high`.
template <class O, class K>
__device__ __forceinline__ index_t row_of(const O* rowptr, index_t low, index_t high, K k) {
  while (high - low > 1) {
    const index_t middle = low + (high - low) / 2;
    if (rowptr[middle] <= k) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace tulle::cuda
