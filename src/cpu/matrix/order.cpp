// Other orders of the same entries. Transposition: a stable counting sort by column; sorting: each row by itself.
// Rows that ascend already are not sorted.
#include <numeric>

#include "cpu/matrix/matrix.hpp"
#include "cpu/parallel.hpp"

namespace tulle::cpu {
namespace {

template <offset O>
entry_map transpose_typed(const context& ctx, const matrix_ref& a) {
  const auto nnz = static_cast<std::size_t>(a.nnz);
  const O* rowptr = static_cast<const O*>(a.rowptr);
  entry_map out{{}, buffer<index_t>(ctx, nnz), buffer<std::int64_t>(ctx, nnz)};
  index_t* colind = out.colind.data();
  std::int64_t* positions = out.positions.data();
  out.rowptr = counting_sort<O>(
      ctx, a.nnz, a.cols, [&](std::int64_t k) { return a.colind[k]; },
      [&](std::int64_t begin, std::int64_t end, auto next) {
        auto row = static_cast<index_t>(std::upper_bound(rowptr, rowptr + a.rows, begin) - rowptr) - 1;
        for (std::int64_t k = begin; k < end; ++k) {
          while (rowptr[row + 1] <= k) ++row;
          const O at = next(a.colind[k]);
          colind[at] = row;
          positions[at] = k;
        }
      });
  return out;
}

template <offset O>
entry_map sort_typed(const context& ctx, const matrix_ref& a) {
  const auto nnz = static_cast<std::size_t>(a.nnz);
  const O* from = static_cast<const O*>(a.rowptr);
  buffer<O> rowptr(ctx, static_cast<std::size_t>(a.rows) + 1);
  std::copy_n(from, rowptr.size(), rowptr.data());
  entry_map out{std::move(rowptr), buffer<index_t>(ctx, nnz), buffer<std::int64_t>(ctx, nnz)};
#pragma omp parallel for num_threads(matrix_threads(ctx, a.rows + a.nnz)) schedule(dynamic, 1024)
  for (index_t r = 0; r < a.rows; ++r) {
    std::int64_t* first = out.positions.data() + from[r];
    std::int64_t* last = out.positions.data() + from[r + 1];
    std::iota(first, last, std::int64_t{from[r]});
    if (!std::is_sorted(a.colind + from[r], a.colind + from[r + 1])) {
      std::sort(first, last, [&](std::int64_t i, std::int64_t j) {
        return a.colind[i] != a.colind[j] ? a.colind[i] < a.colind[j] : i < j;
      });
    }
    std::transform(first, last, out.colind.data() + from[r], [&](std::int64_t k) { return a.colind[k]; });
  }
  return out;
}

template <offset O>
column_order order_typed(const context& ctx, const matrix_ref& a) {
  const O* rowptr = static_cast<const O*>(a.rowptr);
  bool ascending = true, distinct = true;
#pragma omp parallel for num_threads(matrix_threads(ctx, a.rows + a.nnz)) schedule(dynamic, 1024) \
    reduction(&& : ascending, distinct)
  for (index_t r = 0; r < a.rows; ++r) {
    for (O k = rowptr[r] + 1; k < rowptr[r + 1]; ++k) {
      ascending = ascending && a.colind[k - 1] <= a.colind[k];
      distinct = distinct && a.colind[k - 1] != a.colind[k];
    }
  }
  return {ascending, distinct};
}

}  // namespace

entry_map transpose_pattern(const context& ctx, const matrix_ref& a) {
  return dispatch_offset(a.types.offset, [&]<class O>() { return transpose_typed<O>(ctx, a); });
}

entry_map sort_pattern(const context& ctx, const matrix_ref& a) {
  return dispatch_offset(a.types.offset, [&]<class O>() { return sort_typed<O>(ctx, a); });
}

column_order order_of_columns(const context& ctx, const matrix_ref& a) {
  return dispatch_offset(a.types.offset, [&]<class O>() { return order_typed<O>(ctx, a); });
}

}  // namespace tulle::cpu
