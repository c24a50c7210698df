// C = A B on the host in double-double: the pattern, and every entry with its bound.
#pragma once

#include <cstdint>
#include <tulle/formats/views.hpp>
#include <tulle/ops/verify.hpp>
#include <vector>

#include "ops/double_double.hpp"

namespace tulle::test {

/// The products of one entry of C.
struct entry_sum {
  double_double sum;
  double plain = 0;      // in double, infinities and NaNs included
  double magnitude = 0;  // sum of |a| |b|
  std::int64_t terms = 0;
  bool finite = true;  // all factors

  void add(double a, double b);
};

struct product_reference {
  std::vector<std::int64_t> rowptr;
  std::vector<index_t> colind;
  std::vector<entry_sum> entries;

  [[nodiscard]] std::int64_t nnz() const { return rowptr.back(); }
  /// alpha times the sums, with bounds for arithmetic in T.
  template <scalar T>
  [[nodiscard]] spmv_reference scaled(double alpha) const;
  /// The entries that are also in a pattern of the same shape.
  [[nodiscard]] product_reference masked(const std::vector<std::int64_t>& mask_rowptr,
                                         const std::vector<index_t>& mask_colind) const;
};

/// Rows [first, last) of A B.
template <scalar T, offset O>
product_reference reference_product(csr_view<T, O> a, csr_view<T, O> b, index_t first, index_t last);

template <scalar T, offset O>
product_reference reference_product(csr_view<T, O> a, csr_view<T, O> b) {
  return reference_product(a, b, 0, a.rows);
}

}  // namespace tulle::test
