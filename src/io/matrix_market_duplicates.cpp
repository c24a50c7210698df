// Duplicates of a CSR with sorted rows: found, and added up in the order of the file.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "core/instantiate.hpp"
#include "io/matrix_market_assemble.hpp"
#include "kernels/backends.hpp"

namespace tulle::matrix_market {

template <scalar T>
duplicates find_duplicates(const context& ctx, const csr<T>& a) {
  const std::int64_t* rowptr = a.rowptr.data();
  const index_t* colind = a.colind.data();
  std::int64_t count = 0;
  std::int64_t lower = 0;
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
#pragma omp parallel for schedule(dynamic, 4096) num_threads(ctx.threads()) \
    reduction(+ : count, lower) reduction(min : first)
  for (std::int64_t r = 0; r < a.rows; ++r) {
    std::int64_t found = 0;
    for (std::int64_t k = rowptr[r] + 1; k < rowptr[r + 1]; ++k) {
      if (colind[k] != colind[k - 1]) continue;
      ++found;
      lower += colind[k] <= r;
    }
    count += found;
    if (found > 0) first = std::min(first, r);
  }
  if (count == 0) return {};
  const index_t* col = std::adjacent_find(colind + rowptr[first], colind + rowptr[first + 1]);
  return {count, lower, first, *col};
}

template <scalar T>
csr<T> sum_duplicates(const context& ctx, const csr<T>& a, const source& file) {
  const matrix_kernels& kernels = matrices_of(backend_kind::cpu);
  entry_map distinct = kernels.select(ctx, a, {0, a.rows, 0, a.cols, /*nonzero=*/false, /*distinct=*/true});
  const std::int64_t* first = distinct.positions.data();
  const std::size_t nnz = distinct.colind.size();
  if constexpr (std::integral<T>) {
    for (std::size_t i = 0; i < nnz; ++i) {
      const T* values = a.values.data();
      if (std::in_range<T>(std::accumulate(values + first[i], values + first[i + 1], std::int64_t{0}))) continue;
      const std::int64_t* row = std::upper_bound(a.rowptr.data(), a.rowptr.data() + a.rows + 1, first[i]) - 1;
      throw error(status::overflow, fmt::format("{}: the duplicates of entry ({}, {}) add up to more than i32 holds",
                                                file.name, row - a.rowptr.data() + 1, a.colind.data()[first[i]] + 1));
    }
  }
  csr<T> sum{a.rows, a.cols, std::get<buffer<std::int64_t>>(std::move(distinct.rowptr)), std::move(distinct.colind),
             buffer<T>(ctx, nnz)};
  kernels.gather(ctx, {scalar_type_of<T>, static_cast<std::int64_t>(nnz), first, nullptr, a.values.data(),
                       sum.values.data()});
  return sum;
}

#define TULLE_INSTANTIATE(T)                                             \
  template duplicates find_duplicates<T>(const context&, const csr<T>&); \
  template csr<T> sum_duplicates<T>(const context&, const csr<T>&, const source&);
TULLE_FOR_EACH_VALUE(TULLE_INSTANTIATE)

}  // namespace tulle::matrix_market
