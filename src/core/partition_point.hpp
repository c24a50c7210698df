// Binary search among indices.
#pragma once

#include <concepts>

namespace tulle {

/// The first index of first .. last - 1 that is not `before`, or last: those that are come first.
template <std::integral I, class Before>
constexpr I partition_point(I first, I last, Before before) {
  while (first < last) {
    const I middle = first + (last - first) / 2;
    if (before(middle)) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first;
}

}  // namespace tulle
