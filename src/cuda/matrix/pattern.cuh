// The sorted rows of a CSR, in which a column is looked up by one binary search.
#pragma once

#include <tulle/formats/matrix_ref.hpp>

#include "cuda/device/search.cuh"

namespace tulle::cuda {

template <class O>
struct pattern {
  const O* rowptr;
  const index_t* colind;

  explicit pattern(const matrix_ref& m) : rowptr(static_cast<const O*>(m.rowptr)), colind(m.colind) {}
  /// The first entry of a row whose column is not below `column`; the end of the row where there is none.
  __device__ std::int64_t find(index_t row, index_t column) const {
    const std::int64_t begin = rowptr[row];
    return begin + lower_bound(colind + begin, rowptr[row + 1] - begin, column);
  }
  __device__ bool has(index_t row, index_t column, std::int64_t at) const {
    return at < rowptr[row + 1] && colind[at] == column;
  }
};

}  // namespace tulle::cuda
