// A row of bins, whichever backend walks it: what is constexpr here also runs on the device.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tulle/formats/views.hpp>

namespace tulle {

/// Slots of a row.
template <scalar T>
constexpr std::int64_t bin_width(const bin_bsr_view<T>& a, std::int64_t r) {
  const std::int64_t bin = r / bin_rows;
  return (a.rowptr[(bin + 1) * bin_rows] - a.rowptr[bin * bin_rows]) / bin_rows;
}

/// Slots of a row that are used: they come first.
template <scalar T>
constexpr std::int64_t bin_row_length(const bin_bsr_view<T>& a, std::int64_t r) {
  const std::int64_t width = bin_width(a, r);
  std::int64_t length = 0;
  while (length < width && a.colptr[a.rowptr[r] + length * bin_rows] >= 0) ++length;
  return length;
}

/// Copies the `b` values of a row of a block, all of which are read before any is written: neither place then waits for
/// the other.
template <scalar T>
constexpr void copy_row(const T* from, std::int64_t from_step, T* to, std::int64_t to_step, index_t b,
                        bool used = true) {
  constexpr index_t most = 8;
  T row[most] = {};
  for (index_t j = 0; j < most; ++j) {
    if (j < b && used) row[j] = from[j * from_step];
  }
  for (index_t j = 0; j < most; ++j) {
    if (j < b) to[j * to_step] = row[j];
  }
}

/// Values of row r of a BSR to its slots, the first of which is `slot`.
template <scalar T, offset O>
constexpr void scatter_row(const bsr_view<T, O>& a, index_t r, std::int64_t slot, T* values) {
  const index_t b = a.block;
  for (O k = a.rowptr[r / b]; k < a.rowptr[r / b + 1]; ++k, slot += bin_rows) {
    copy_row(a.values + (std::int64_t{k} * b + r % b) * b, 1, values + bin_place(slot, r, b), bin_rows, b);
  }
}

/// The other way: values of row r of the blocks of a BSR with these offsets; zeros past the matrix.
template <scalar T, offset O>
constexpr void gather_row(const bin_bsr_view<T>& a, std::int64_t r, const O* rowptr, T* values) {
  const index_t b = a.block;
  std::int64_t slot = r < a.rows ? a.rowptr[r] : 0;
  for (std::int64_t k = rowptr[r / b]; k < rowptr[r / b + 1]; ++k, slot += bin_rows) {
    copy_row(a.values + bin_place(slot, static_cast<index_t>(r % bin_rows), b), bin_rows, values + (k * b + r % b) * b,
             1, b, r < a.rows);
  }
}

/// Columns and, where `mask` is not null, masks of block row R. What reaches past the matrix is not in the pattern.
template <scalar T, offset O>
constexpr void gather_pattern(const bin_bsr_view<T>& a, std::int64_t R, const O* rowptr, index_t* colind,
                              std::uint64_t* mask) {
  const std::int64_t first = R * a.block, count = std::min<std::int64_t>(a.block, a.rows - first);
  for (std::int64_t k = rowptr[R], at = 0; k < rowptr[R + 1]; ++k, at += bin_rows) {
    colind[k] = a.colptr[a.rowptr[first] + at];
    if (mask == nullptr) continue;
    std::uint64_t bits = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint64_t row = a.mask == nullptr ? (1u << a.block) - 1 : a.mask[a.rowptr[first + i] + at];
      bits |= row << (i * a.block);
    }
    mask[k] = bits;
  }
}

/// Whether the offset after row r is wrong.
template <scalar T>
constexpr bool has_bad_offset(const bin_bsr_view<T>& a, std::int64_t r) {
  const std::int64_t step = a.rowptr[r + 1] - a.rowptr[r];
  if ((r + 1) % bin_rows != 0) return step != 1;
  const std::int64_t slots = step + bin_rows - 1;
  return slots < 0 || slots % bin_rows != 0;
}

inline constexpr std::int64_t no_bad_slot = -2;

/// The first slot of a row that is wrong; -1 where the row has none of those that it should.
template <scalar T>
constexpr std::int64_t bad_slot(const bin_bsr_view<T>& a, std::int64_t r) {
  const std::int64_t width = bin_width(a, r);
  const std::int64_t block_cols = (std::int64_t{a.cols} + a.block - 1) / a.block;
  const std::int64_t first = r / a.block * a.block;  // of the block row
  const std::int64_t first_width = bin_width(a, first);
  for (std::int64_t k = 0; k < std::max(width, first_width); ++k) {
    const std::int64_t at = a.rowptr[r] + std::min(k, width - 1) * bin_rows;
    const index_t column = k < width ? a.colptr[at] : -1;
    const index_t want = r < a.rows && k < first_width ? a.colptr[a.rowptr[first] + k * bin_rows] : -1;
    const bool after_padding = k > 0 && k < width && column >= 0 && a.colptr[at - bin_rows] < 0;
    if (column < -1 || column >= block_cols || column != want || after_padding) return width > 0 ? at : -1;
  }
  return no_bad_slot;
}

}  // namespace tulle
