// Rows sorted by column, duplicates added up in storage order.
#include <algorithm>
#include <numeric>
#include <tulle/formats/convert.hpp>

#include "core/instantiate.hpp"
#include "core/parallel.hpp"
#include "core/wrapping_sum.hpp"
#include "formats/check.hpp"

namespace tulle {
namespace {

/// True when every row's columns ascend strictly.
template <scalar T, offset O>
bool is_canonical(int threads, const csr<T, O>& a) {
  const O* rowptr = a.rowptr.data();
  const index_t* colind = a.colind.data();
  bool canonical = true;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1024) reduction(&& : canonical)
  for (index_t r = 0; r < a.rows; ++r) {
    for (O k = rowptr[r] + 1; k < rowptr[r + 1]; ++k) canonical = canonical && colind[k - 1] < colind[k];
  }
  return canonical;
}

/// Entry numbers of every row, sorted by column and then by position; counts of distinct columns in `counts[r + 1]`.
template <scalar T, offset O>
buffer<O> sorted_entries(const context& ctx, const csr<T, O>& a, O* counts) {
  buffer<O> order(ctx, a.values.size());
  const O* rowptr = a.rowptr.data();
  const index_t* colind = a.colind.data();
#pragma omp parallel for num_threads(ctx.threads()) schedule(dynamic, 1024)
  for (index_t r = 0; r < a.rows; ++r) {
    O* first = order.data() + rowptr[r];
    O* last = order.data() + rowptr[r + 1];
    std::iota(first, last, rowptr[r]);
    std::sort(first, last, [&](O i, O j) { return colind[i] != colind[j] ? colind[i] < colind[j] : i < j; });
    O distinct = 0;
    for (O* k = first; k < last; ++k) distinct += k == first || colind[k[0]] != colind[k[-1]];
    counts[r + 1] = distinct;
  }
  return order;
}

}  // namespace

template <scalar T, offset O>
std::int64_t sort_and_sum_duplicates(const context& ctx, csr<T, O>& a) {
  check_space("sort_and_sum_duplicates", ctx, memory_space::host);
  check_csr("sort_and_sum_duplicates", ctx, a.view());
  const int threads = ctx.threads();
  if (is_canonical(threads, a)) return 0;

  buffer<O> rowptr(ctx, a.rowptr.size());
  const buffer<O> order = sorted_entries(ctx, a, rowptr.data());
  scan_counts(threads, rowptr.data(), a.rows);
  const auto nnz = static_cast<std::size_t>(rowptr.data()[a.rows]);
  buffer<index_t> colind(ctx, nnz);
  buffer<T> values(ctx, nnz);
  const O* old_rowptr = a.rowptr.data();
  const index_t* old_colind = a.colind.data();
  const T* old_values = a.values.data();
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1024)
  for (index_t r = 0; r < a.rows; ++r) {
    O at = rowptr.data()[r] - 1;
    for (O i = old_rowptr[r]; i < old_rowptr[r + 1]; ++i) {
      const O k = order.data()[i];
      if (i > old_rowptr[r] && old_colind[k] == colind.data()[at]) {
        values.data()[at] = wrapping_sum(values.data()[at], old_values[k]);
      } else {
        colind.data()[++at] = old_colind[k];
        values.data()[at] = old_values[k];
      }
    }
  }
  const auto merged = static_cast<std::int64_t>(a.values.size() - nnz);
  a.rowptr = std::move(rowptr);
  a.colind = std::move(colind);
  a.values = std::move(values);
  return merged;
}

#define TULLE_INSTANTIATE(T, O) template std::int64_t sort_and_sum_duplicates(const context&, csr<T, O>&);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle
