// Duplicates of a CSR with sorted rows: found, and added up in the order of the file.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/instantiate.hpp"
#include "core/parallel.hpp"
#include "io/matrix_market_assemble.hpp"

namespace tulle::matrix_market {
namespace {

/// a + b; false when it does not fit.
template <scalar T>
bool add(T& a, T b) {
  if constexpr (std::integral<T>) {
    return !__builtin_add_overflow(a, b, &a);
  } else {
    a += b;
    return true;
  }
}

/// Offsets of the matrix without duplicates.
template <scalar T>
buffer<std::int64_t> unique_offsets(const context& ctx, const csr<T>& a) {
  buffer<std::int64_t> offsets(ctx, static_cast<std::size_t>(a.rows) + 1);
  const std::int64_t* rowptr = a.rowptr.data();
  const index_t* colind = a.colind.data();
  std::int64_t* to = offsets.data();
#pragma omp parallel for schedule(dynamic, 4096) num_threads(ctx.threads())
  for (std::int64_t r = 0; r < a.rows; ++r) {
    std::int64_t length = 0;
    for (std::int64_t k = rowptr[r]; k < rowptr[r + 1]; ++k) length += k == rowptr[r] || colind[k] != colind[k - 1];
    to[r + 1] = length;
  }
  scan_counts(ctx.threads(), to, a.rows);
  return offsets;
}

}  // namespace

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
csr<T> sum_duplicates(const context& ctx, const csr<T>& a, std::int64_t count, const source& file) {
  const auto nnz = static_cast<std::size_t>(a.nnz() - count);
  csr<T> sum{a.rows, a.cols, unique_offsets(ctx, a), buffer<index_t>(ctx, nnz), buffer<T>(ctx, nnz)};
  std::int64_t overflow = std::numeric_limits<std::int64_t>::max();  // first position whose sum does not fit
#pragma omp parallel for schedule(dynamic, 4096) num_threads(ctx.threads()) reduction(min : overflow)
  for (std::int64_t r = 0; r < a.rows; ++r) {
    std::int64_t to = sum.rowptr.data()[r] - 1;
    for (std::int64_t k = a.rowptr.data()[r]; k < a.rowptr.data()[r + 1]; ++k) {
      const index_t col = a.colind.data()[k];
      if (k > a.rowptr.data()[r] && col == sum.colind.data()[to]) {
        if (!add(sum.values.data()[to], a.values.data()[k])) overflow = std::min(overflow, k);
      } else {
        ++to;
        sum.colind.data()[to] = col;
        sum.values.data()[to] = a.values.data()[k];
      }
    }
  }
  if (overflow < a.nnz()) {
    const std::int64_t* row = std::upper_bound(a.rowptr.data(), a.rowptr.data() + a.rows + 1, overflow) - 1;
    throw error(status::overflow, fmt::format("{}: the duplicates of entry ({}, {}) add up to more than i32 holds",
                                              file.name, row - a.rowptr.data() + 1, a.colind.data()[overflow] + 1));
  }
  return sum;
}

#define TULLE_INSTANTIATE(T)                                             \
  template duplicates find_duplicates<T>(const context&, const csr<T>&); \
  template csr<T> sum_duplicates<T>(const context&, const csr<T>&, std::int64_t, const source&);
TULLE_FOR_EACH_VALUE(TULLE_INSTANTIATE)

}  // namespace tulle::matrix_market
