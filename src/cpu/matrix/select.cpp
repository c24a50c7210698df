// Some of a matrix's entries: counted row by row, then copied.
#include "cpu/matrix/matrix.hpp"

namespace tulle::cpu {
namespace {

template <offset O, scalar T>
entry_map select_typed(const context& ctx, const matrix_ref& a, const entry_selection& what) {
  const O* from = static_cast<const O*>(a.rowptr) + what.first_row;
  const T* values = static_cast<const T*>(a.values);
  const index_t rows = what.last_row - what.first_row;
  const auto stays = [&](index_t r, O k) {
    const index_t c = a.colind[k];
    return c >= what.first_col && c < what.last_col && (!what.nonzero || values[k] != 0) &&
           (!what.distinct || k == from[r] || c != a.colind[k - 1]);
  };
  const int threads = threads_for(ctx.threads(), rows + std::int64_t{from[rows]} - from[0]);
  buffer<O> rowptr(ctx, static_cast<std::size_t>(rows) + 1);
  O* offsets = rowptr.data();
  parallel_for(threads, rows, 1024, [&](index_t r) {
    O count = 0;
    for (O k = from[r]; k < from[r + 1]; ++k) count += stays(r, k) ? 1 : 0;
    offsets[r + 1] = count;
  });
  scan_counts(threads, offsets, rows);
  const auto nnz = static_cast<std::size_t>(offsets[rows]);
  entry_map out{{}, buffer<index_t>(ctx, nnz), buffer<std::int64_t>(ctx, nnz + 1)};
  out.positions.data()[nnz] = a.nnz;
  parallel_for(threads, rows, 1024, [&](index_t r) {
    O at = offsets[r];
    for (O k = from[r]; k < from[r + 1]; ++k) {
      if (!stays(r, k)) continue;
      out.colind.data()[at] = a.colind[k] - what.first_col;
      out.positions.data()[at++] = k;
    }
  });
  out.rowptr = std::move(rowptr);
  return out;
}

}  // namespace

entry_map select_entries(const context& ctx, const matrix_ref& a, const entry_selection& what) {
  return dispatch<type_set::all>(what.nonzero ? a.types : pattern_types(a.types), [&]<class T, class O>() { return select_typed<O, T>(ctx, a, what); });
}

}  // namespace tulle::cpu
