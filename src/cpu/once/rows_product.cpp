// C = A B of CSR in one pass, rows of C unsorted.
//
// Method: row by row (Gustavson, ACM TOMS 4, 1978) with the columns found so far in a list, the last one first, which
// is the order that they are written in; sums that are 0 are left out (both as scipy.sparse does). One thread, without
// a symbolic phase: C's arrays are as long as the number of products. Bytes per product: 2 sizeof(T) + 12, from caches.
// For small products, of which anything planned would be most of the time.
#include <utility>
#include <vector>

#include "kernels/numbers.hpp"
#include "kernels/once.hpp"

namespace tulle::cpu {

using further::row_offsets;

std::int64_t count_products(const matrix_ref& a, const matrix_ref& b, std::int64_t most) {
  const row_offsets of_a(a.rowptr, a.types.offset), of_b(b.rowptr, b.types.offset);
  std::int64_t products = 0;
  for (std::int64_t k = of_a[0], end = of_a[a.rows]; k < end && products <= most; ++k) {
    products += of_b[a.colind[k] + 1] - of_b[a.colind[k]];
  }
  return products;
}

block_matrix multiply_rows(const context& ctx, const matrix_ref& a, const matrix_ref& b, std::int64_t products) {
  const row_offsets of_a(a.rowptr, a.types.offset), of_b(b.rowptr, b.types.offset);
  const auto most = static_cast<std::size_t>(products), columns = static_cast<std::size_t>(b.cols);
  block_matrix c{a.types.value,
                 a.rows,
                 b.cols,
                 1,
                 1,
                 {ctx, static_cast<std::size_t>(a.rows) + 1},
                 {ctx, most},
                 {ctx, most * size_of(a.types.value)}};
  constexpr index_t not_in_list = -1, end_of_list = -2;
  std::vector<index_t> next(columns, not_in_list);
  further::dispatch_numbers(a.types.value, [&]<class N>() {
    const auto *const x = static_cast<const N*>(a.values), *const y = static_cast<const N*>(b.values);
    auto* const values = reinterpret_cast<N*>(c.values.data());
    std::vector<N> sums(columns, N::zero());
    std::int64_t at = c.rowptr.data()[0] = 0;
    for (index_t i = 0; i < a.rows; ++i) {
      index_t head = end_of_list;
      for (std::int64_t k = of_a[i], last = of_a[i + 1]; k < last; ++k) {
        for (std::int64_t l = of_b[a.colind[k]], end = of_b[a.colind[k] + 1]; l < end; ++l) {
          const auto column = static_cast<std::size_t>(b.colind[l]);
          sums[column] = multiply_add(sums[column], x[k], y[l]);
          if (next[column] != not_in_list) continue;
          next[column] = head;
          head = b.colind[l];
        }
      }
      while (head != end_of_list) {
        const auto column = static_cast<std::size_t>(head);
        const N sum = std::exchange(sums[column], N::zero());
        if (!is_zero(sum)) {
          c.colind.data()[at] = head;
          values[at++] = sum;
        }
        head = std::exchange(next[column], not_in_list);
      }
      c.rowptr.data()[i + 1] = at;
    }
  });
  return c;
}

}  // namespace tulle::cpu
