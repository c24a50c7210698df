// The CSR of a format whose threads find the entries of their rows by themselves: count, then copy.
#pragma once

#include <tulle/formats/matrices.hpp>

#include "cuda/formats/offsets.hpp"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/primitives.hpp"

namespace tulle::cuda {

/// Thread t of `threads` has row rows.row(t) (-1: none) of `a`; rows.for_each(t, f) calls f(column, position) for every
/// entry of the row, in order: its value is a.values[position].
template <scalar T, offset O, class View, class Rows>
csr<T, O> collect_rows(const context& ctx, const View& a, std::int64_t threads, Rows rows) {
  buffer<std::int64_t> counts = zero_counts(ctx, a.rows);
  for_each_item(ctx, "count_entries", threads, [rows, counts = counts.data()] __device__(std::int64_t t) {
    const index_t row = rows.row(t);
    if (row < 0) return;
    std::int64_t count = 0;
    rows.for_each(t, [&](index_t, std::int64_t) { ++count; });
    counts[row] = count;
  });
  auto [offsets, nnz] = offsets_of<O>(ctx, std::move(counts));
  csr<T, O> out{a.rows, a.cols, std::move(offsets), buffer<index_t>(ctx, static_cast<std::size_t>(nnz)),
                buffer<T>(ctx, static_cast<std::size_t>(nnz))};
  const auto copy = [rows, from = a.values, rowptr = out.rowptr.data(), colind = out.colind.data(),
                     values = out.values.data()] __device__(std::int64_t t) {
    const index_t row = rows.row(t);
    if (row < 0) return;
    O at = rowptr[row];
    rows.for_each(t, [&](index_t column, std::int64_t position) {
      colind[at] = column;
      values[at++] = from[position];
    });
  };
  for_each_item(ctx, "copy_entries", threads, copy);
  return out;
}

}  // namespace tulle::cuda
