// Duplicates of a CSR with sorted rows: found, and added up in the order of the file.
#include <algorithm>
#include <cmath>
#include <concepts>
#include <utility>

#include "core/instantiate.hpp"
#include "core/parallel.hpp"
#include "io/matrix_market_assemble.hpp"
#include "kernels/backends.hpp"

namespace tulle::matrix_market {
namespace {

template <scalar T>
bool overflows_to(T sum, const T* first, const T* last) {
  if constexpr (std::integral<T>) {
    T exact = 0;
    return std::any_of(first, last, [&](T x) { return __builtin_add_overflow(exact, x, &exact); });
  } else if constexpr (complex_scalar<T>) {
    const auto finite = [](T x) { return std::isfinite(x.real()) && std::isfinite(x.imag()); };
    return !finite(sum) && std::all_of(first, last, finite);
  } else {
    return std::isinf(sum) && std::all_of(first, last, [](T x) { return std::isfinite(x); });
  }
}

}  // namespace

template <scalar T>
duplicates find_duplicates(const context& ctx, const csr<T>& a) {
  const std::int64_t* rowptr = a.rowptr.data();
  const index_t* colind = a.colind.data();
  const auto count_in_row = [&](index_t r, duplicates& all) {
    std::int64_t found = 0;
    for (std::int64_t k = rowptr[r] + 1; k < rowptr[r + 1]; ++k) {
      if (colind[k] != colind[k - 1]) continue;
      ++found;
      all.lower += colind[k] <= r;
    }
    all.count += found;
    if (found > 0 && (all.first_row < 0 || r < all.first_row)) all.first_row = r;
  };
  duplicates found = parallel_reduce(threads_for(ctx.threads(), a.rows + a.nnz()), a.rows, 4096, duplicates{},
                                     count_in_row, [](duplicates& all, const duplicates& mine) {
                                       all.count += mine.count;
                                       all.lower += mine.lower;
                                       if (mine.count > 0 && (all.first_row < 0 || mine.first_row < all.first_row))
                                         all.first_row = mine.first_row;
                                     });
  if (found.count == 0) return {};
  found.first_col = *std::adjacent_find(colind + rowptr[found.first_row], colind + rowptr[found.first_row + 1]);
  return found;
}

template <scalar T>
csr<T> sum_duplicates(const context& ctx, const csr<T>& a, overflows& found) {
  const matrix_kernels& kernels = matrices_of(backend_kind::cpu);
  entry_map distinct = kernels.select(ctx, a, {0, a.rows, 0, a.cols, /*nonzero=*/false, /*distinct=*/true});
  const std::int64_t* first = distinct.positions.data();
  const std::size_t nnz = distinct.colind.size();
  csr<T> sum{a.rows, a.cols, std::get<buffer<std::int64_t>>(std::move(distinct.rowptr)), std::move(distinct.colind),
             buffer<T>(ctx, nnz)};
  kernels.gather(
      ctx, {scalar_type_of<T>, static_cast<std::int64_t>(nnz), first, nullptr, a.values.data(), sum.values.data()});
  if constexpr (complex_scalar<T>) {
    const T* sums = sum.values.data();
    if (std::all_of(sums, sums + nnz, [](T x) { return std::isfinite(x.real()) && std::isfinite(x.imag()); })) return sum;
  }
  if constexpr (std::floating_point<T>) {
    const T* sums = sum.values.data();
    if (std::count_if(sums, sums + nnz, [](T x) { return std::isinf(x); }) == 0) return sum;
  }
  const T* values = a.values.data();
  for (std::int64_t r = 0; r < a.rows; ++r) {
    for (std::int64_t k = sum.rowptr.data()[r]; k < sum.rowptr.data()[r + 1]; ++k) {
      if (first[k + 1] - first[k] == 1) continue;
      if (!overflows_to(sum.values.data()[k], values + first[k], values + first[k + 1])) continue;
      const index_t col = sum.colind.data()[k];
      if (found.count == 0) found = {.first_row = r, .first_col = col};
      ++found.count;
      found.lower += col <= r;
    }
  }
  return sum;
}

#define TULLE_INSTANTIATE(T)                                             \
  template duplicates find_duplicates<T>(const context&, const csr<T>&); \
  template csr<T> sum_duplicates<T>(const context&, const csr<T>&, overflows&);
TULLE_FOR_EACH_VALUE(TULLE_INSTANTIATE)
TULLE_FOR_EACH_FURTHER_READ(TULLE_INSTANTIATE)

}  // namespace tulle::matrix_market
