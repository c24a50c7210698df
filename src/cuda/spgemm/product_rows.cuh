// What the kernels of gustavson share: the pattern of A and B, the classes of rows, lists of rows.
#pragma once

#include <cstdint>
#include <tulle/core/types.hpp>

#include "cuda/device/arithmetic.cuh"
#include "cuda/device/warp.cuh"
#include "kernels/spgemm.hpp"

namespace tulle::cuda {

/// A and B without their numbers.
template <class O>
struct product_pattern {
  index_t rows;
  index_t cols;
  const O* a_rowptr;
  const index_t* a_colind;
  const O* b_rowptr;
  const index_t* b_colind;
};

/// Their numbers, and C. T is the type of sums.
template <class T, class O>
struct product_values {
  T alpha;
  const T* a;
  const T* b;
  const O* c_rowptr;
  index_t* c_colind;
  T* c;
};

/// Of values that are T outside the kernels.
template <class T, class O>
product_values<sum_of<T>, O> values_of_product(double alpha, const void* a, const void* b, const O* c_rowptr,
                                               const csr_sink& c) {
  using sum = sum_of<T>;
  return {static_cast<sum>(static_cast<T>(alpha)),
          static_cast<const sum*>(a),
          static_cast<const sum*>(b),
          c_rowptr,
          c.colind,
          static_cast<sum*>(c.values)};
}

/// How a row of C is made. sorted_N: all of its at most N products sorted in registers (sorted_rows.cuh). hashed_N: an
/// accumulator of at most N values behind a hash table of the 32-column words in which it has entries (hashed_fill.cu).
/// wide: bitmaps and chunks of columns (wide_pattern.cu, wide_values.cu). The two trials are hashed if their words fit
/// the table.
enum row_class : std::uint8_t {
  empty_row,
  sorted_8,
  sorted_16,
  sorted_32,
  sorted_64,
  sorted_128,
  sorted_256,
  trial_512,
  trial,
  first_classes,  // what a row is before its entries are counted
  hashed_256 = first_classes,
  hashed_376,
  hashed_480,
  sorted_512,
  wide_counted,  // its entries were counted by a trial
  wide,
  row_classes
};

/// Rows of one class: `rows` null means all rows in order. Where the host does not know them, their number and the
/// place of the first in `rows` lie on the device.
struct row_list {
  const index_t* rows;
  index_t most;            // rows of the list, or a bound on them
  const index_t* counted;  // null: `most` is the count
  const index_t* begin;    // null: 0

  __device__ index_t count() const { return counted == nullptr ? most : *counted; }
  __device__ index_t operator[](index_t i) const {
    if (rows == nullptr) return i;
    return rows[begin == nullptr ? i : *begin + i];
  }
};

}  // namespace tulle::cuda
