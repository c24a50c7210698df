// CSR <-> COO and CSR -> CSC, with values or positions: expansion of the offsets, and stable counting sorts by row or
// column.
#include <algorithm>

#include "core/instantiate.hpp"
#include "cpu/formats/formats.hpp"

namespace tulle::cpu {
namespace {

/// The entries in the order of columns, stable: the row and value_of(entry) of each. Returns the column offsets.
template <scalar T, offset O, class V, class ValueOf>
buffer<O> sort_by_column(const context& ctx, const csr_view<T, O>& a, buffer<index_t>& rows, buffer<V>& values,
                         ValueOf value_of) {
  rows = buffer<index_t>(ctx, static_cast<std::size_t>(a.nnz));
  values = buffer<V>(ctx, static_cast<std::size_t>(a.nnz));
  index_t* to_row = rows.data();
  V* to_value = values.data();
  return counting_sort<O>(
      ctx, a.nnz, a.cols, [&](std::int64_t k) { return a.colind[k]; },
      [&](std::int64_t begin, std::int64_t end, auto next) {
        auto row = static_cast<index_t>(std::upper_bound(a.rowptr, a.rowptr + a.rows, begin) - a.rowptr) - 1;
        for (std::int64_t k = begin; k < end; ++row) {
          for (const std::int64_t last = std::min<std::int64_t>(end, a.rowptr[row + 1]); k < last; ++k) {
            const O at = next(a.colind[k]);
            to_row[at] = row;
            to_value[at] = value_of(k);
          }
        }
      });
}

template <scalar T, offset O>
coo<T> csr_to_coo(const context& ctx, csr_view<T, O> a) {
  const auto nnz = static_cast<std::size_t>(a.nnz);
  coo<T> out{a.rows, a.cols, buffer<index_t>(ctx, nnz), buffer<index_t>(ctx, nnz), buffer<T>(ctx, nnz)};
  parallel_rows(threads_for(ctx, a), a.rows, a.rowptr, [&](index_t begin, index_t end) {
    for (index_t r = begin; r < end; ++r) {
      std::fill(out.rowind.data() + a.rowptr[r], out.rowind.data() + a.rowptr[r + 1], r);
    }
    const O first = a.rowptr[begin];
    const O last = a.rowptr[end];
    std::copy(a.colind + first, a.colind + last, out.colind.data() + first);
    std::copy(a.values + first, a.values + last, out.values.data() + first);
  });
  return out;
}

template <scalar T, offset O>
csr<T, O> coo_to_csr(const context& ctx, coo_view<T> a) {
  const auto nnz = static_cast<std::size_t>(a.nnz);
  csr<T, O> out{a.rows, a.cols, {}, buffer<index_t>(ctx, nnz), buffer<T>(ctx, nnz)};
  index_t* colind = out.colind.data();
  T* values = out.values.data();
  out.rowptr = counting_sort<O>(
      ctx, a.nnz, a.rows, [&](std::int64_t k) { return a.rowind[k]; },
      [&](std::int64_t begin, std::int64_t end, auto next) {
        for (std::int64_t k = begin; k < end; ++k) {
          const O at = next(a.rowind[k]);
          colind[at] = a.colind[k];
          values[at] = a.values[k];
        }
      });
  return out;
}

template <scalar T, offset O>
csc<T, O> csr_to_csc(const context& ctx, csr_view<T, O> a) {
  csc<T, O> out{a.rows, a.cols, {}, {}, {}};
  out.colptr = sort_by_column(ctx, a, out.rowind, out.values, [&](std::int64_t k) { return a.values[k]; });
  return out;
}

template <scalar T, offset O>
transposed_pattern<O> transpose_pattern(const context& ctx, csr_view<T, O> a, const std::int64_t* positions) {
  transposed_pattern<O> out;
  out.rowptr =
      sort_by_column(ctx, a, out.colind, out.positions, [&](std::int64_t k) { return positions ? positions[k] : k; });
  return out;
}

}  // namespace

template <scalar T, offset O>
void enter<T, O>::coo(table& made) {
  made.csr_to_coo = csr_to_coo<T, O>;
  made.coo_to_csr = coo_to_csr<T, O>;
  made.csr_to_csc = csr_to_csc<T, O>;
  made.transpose_pattern = transpose_pattern<T, O>;
}

#define TULLE_INSTANTIATE(T, O) template void enter<T, O>::coo(table&);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle::cpu
