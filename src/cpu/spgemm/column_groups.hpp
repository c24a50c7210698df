// The columns of a row in groups of 2^Shift neighbours.
#pragma once

#include <cstdint>
#include <tulle/formats/views.hpp>

namespace tulle::cpu {

/// How many groups row r of B, which is sorted, has entries in.
template <int Shift, scalar T, offset O>
std::int64_t count_column_groups(csr_view<T, O> b, index_t r) {
  std::int64_t n = 0;
  index_t group = -1;
  for (O l = b.rowptr[r]; l < b.rowptr[r + 1]; ++l) {
    n += b.colind[l] >> Shift != group ? 1 : 0;
    group = b.colind[l] >> Shift;
  }
  return n;
}

}  // namespace tulle::cpu
