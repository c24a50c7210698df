// Y = A X from coordinates in any order, duplicates included.
//
// Method: one pass over the entries, each adds a_ij times row j of X to row i of Y (Saad, Iterative Methods for Sparse
// Linear Systems, 2003, section 3.4). One thread does it: any entry may go to any row. Bytes per nonzero: sizeof(T) +
// 8, and a read and a write of y. A plan makes a CSR first, which costs more than ten such passes.
#include <algorithm>

#include "cpu/spmv/isa.hpp"
#include "kernels/numbers.hpp"
#include "kernels/once.hpp"

namespace tulle::cpu {
namespace {

template <class N>
[[gnu::always_inline]] inline void add_entries(const matrix_ref& a, const strided_vectors& x,
                                               const strided_vectors& y) {
  const auto* const values = static_cast<const N*>(a.values);
  const auto* const from = static_cast<const N*>(x.data);
  auto* const to = static_cast<N*>(y.data);
  if (x.count == 1 && x.row_stride == 1 && y.row_stride == 1) {
    const index_t *const row = a.rowind, *const col = a.colind;
    for (std::int64_t k = 0, nnz = a.nnz; k < nnz; ++k) to[row[k]] = multiply_add(to[row[k]], values[k], from[col[k]]);
    return;
  }
  for (std::int64_t k = 0; k < a.nnz; ++k) {
    const N value = values[k];
    const N* const row = from + a.colind[k] * x.row_stride;
    N* const sums = to + a.rowind[k] * y.row_stride;
#pragma omp simd
    for (index_t j = 0; j < x.count; ++j) sums[j] = multiply_add(sums[j], value, row[j]);
  }
}

}  // namespace

void apply_coo(const matrix_ref& a, const strided_vectors& x, const strided_vectors& y) {
  further::dispatch_numbers(a.types.value, [&]<class N>() {
    set_zero<N>(y, 0, a.rows);
    with_isa(
        best_isa(), [&]() __attribute__((always_inline)) { add_entries<N>(a, x, y); });
  });
}

}  // namespace tulle::cpu
