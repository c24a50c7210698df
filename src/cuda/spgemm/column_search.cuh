// Search in the ascending columns of a row.
#pragma once

#include <tulle/core/types.hpp>

namespace tulle::cuda {

/// First position in [begin, end) of ascending columns whose column is at least `column`.
template <class O>
__device__ __forceinline__ O lower_bound(const index_t* columns, O begin, O end, index_t column) {
  while (begin < end) {
    const O middle = begin + (end - begin) / 2;
    if (__ldg(columns + middle) < column) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

/// lower_bound of two columns at once, so that one waits while the other does.
template <class O>
__device__ __forceinline__ void lower_bounds(const index_t* columns, O begin, O end, index_t first, index_t last,
                                             O& at_first, O& at_last) {
  O first_end = end, last_end = end;
  at_first = at_last = begin;
  while (at_first < first_end || at_last < last_end) {
    const O first_middle = at_first + (first_end - at_first) / 2, last_middle = at_last + (last_end - at_last) / 2;
    const bool has_first = at_first < first_end, has_last = at_last < last_end;
    const index_t first_column = has_first ? __ldg(columns + first_middle) : 0;
    const index_t last_column = has_last ? __ldg(columns + last_middle) : 0;
    if (has_first) (first_column < first ? at_first : first_end) = first_middle + (first_column < first ? 1 : 0);
    if (has_last) (last_column < last ? at_last : last_end) = last_middle + (last_column < last ? 1 : 0);
  }
}

}  // namespace tulle::cuda
