// What the CPU's implementations of kernels/formats.hpp share: one file per format enters its own into the table.
#pragma once

#include "core/parallel.hpp"
#include "kernels/formats.hpp"

namespace tulle::cpu {

/// That a thread takes where rows are short work.
inline constexpr std::int64_t rows_at_a_time = 4096;

template <scalar T, offset O>
struct enter {
  using table = format_kernels<T, O>;
  static void coo(table&);  // and CSC
  static void ell(table&), sell(table&), bsr(table&), bin_bsr(table&), compact(table&), offsets(table&), analysis(table&), validation(table&);
};

/// The CSR of a matrix that is stored as `lanes` rows in any order: row_of(lane) is a row, or -1, whose entries
/// for_each_entry(lane, f) hands to f(column, value).
template <scalar T, offset O, class RowOf, class ForEachEntry>
csr<T, O> gather_rows(const context& ctx, shape s, std::int64_t lanes, RowOf row_of, ForEachEntry for_each_entry) {
  csr<T, O> out{s.rows, s.cols, buffer<O>(ctx, static_cast<std::size_t>(s.rows) + 1), {}, {}};
  O* rowptr = out.rowptr.data();
  parallel_for(threads_for(ctx.threads(), lanes), lanes, 512, [&](std::int64_t lane) {
    const index_t row = row_of(lane);
    if (row < 0) return;
    O count = 0;
    for_each_entry(lane, [&](index_t, T) { ++count; });
    rowptr[row + 1] = count;
  });
  scan_counts(ctx.threads(), rowptr, s.rows);
  out.colind = buffer<index_t>(ctx, static_cast<std::size_t>(rowptr[s.rows]));
  out.values = buffer<T>(ctx, static_cast<std::size_t>(rowptr[s.rows]));
  index_t* colind = out.colind.data();
  T* values = out.values.data();
  parallel_for(threads_for(ctx.threads(), lanes + rowptr[s.rows]), lanes, 512, [&](std::int64_t lane) {
    const index_t row = row_of(lane);
    if (row < 0) return;
    O at = rowptr[row];
    for_each_entry(lane, [&](index_t column, T value) {
      colind[at] = column;
      values[at++] = value;
    });
  });
  return out;
}

/// Pads `count` rows, at most 32, to `width` slots: slot s of lane l is at s * stride + l. row_of(l): the row of a lane,
/// or -1. Writes the values and, unless `colind` is null, the column indices. False when a row is longer than `width`.
template <scalar T, offset O, class RowOf>
bool fill_slots(csr_view<T, O> a, index_t count, RowOf row_of, std::int64_t width, std::int64_t stride, index_t* colind,
                T* values) {
  O begin[sell_slice_rows];
  O end[sell_slice_rows];
  bool fits = true;
  for (index_t l = 0; l < count; ++l) {
    const index_t row = row_of(l);
    begin[l] = row < 0 ? O{0} : a.rowptr[row];
    end[l] = row < 0 ? O{0} : a.rowptr[row + 1];
    fits = fits && end[l] - begin[l] <= width;
  }
  for (std::int64_t s = 0; s < width; ++s) {
    for (index_t l = 0; l < count; ++l) {
      const bool used = s < end[l] - begin[l];
      values[s * stride + l] = used ? a.values[begin[l] + s] : T{0};
      if (colind != nullptr) colind[s * stride + l] = used ? a.colind[begin[l] + s] : -1;
    }
  }
  return fits;
}

}  // namespace tulle::cpu
