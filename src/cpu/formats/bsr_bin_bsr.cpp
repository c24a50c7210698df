// BSR <-> bin_bsr (views.hpp): scalar rows in bins of 32, each with the column of every block that it crosses.
#include <algorithm>

#include "core/instantiate.hpp"
#include "cpu/formats/formats.hpp"

namespace tulle::cpu {
namespace {

/// Calls f(bin) for every bin, with threads for `slots` slots.
template <class F>
void for_each_bin(const context& ctx, index_t bins, std::int64_t slots, const F& f) {
  parallel_for(threads_for(ctx.threads(), slots), bins, 64, f);
}

/// Slots of every row of a bin; the blocks of its longest.
template <scalar T, offset O>
std::int64_t bin_length(bsr_view<T, O> a, index_t bin) {
  std::int64_t length = 0;
  for (std::int64_t r = std::int64_t{bin} * bin_rows; r < bin_end(bin, a.rows); r += a.block - r % a.block) {
    length = std::max<std::int64_t>(length, a.rowptr[r / a.block + 1] - a.rowptr[r / a.block]);
  }
  return length;
}

template <scalar T, offset O>
void fill_row(bsr_view<T, O> a, index_t r, std::int64_t slot, T* values) {
  const index_t b = a.block;
  for (O k = a.rowptr[r / b]; k < a.rowptr[r / b + 1]; ++k, slot += bin_rows) {
    const T* row = a.values + (static_cast<std::int64_t>(k) * b + r % b) * b;
    T* to = values + bin_place(slot, r, b);
    for (index_t j = 0; j < b; ++j) to[j * bin_rows] = row[j];
  }
}

template <scalar T, offset O>
void update_bin_bsr(const context& ctx, bsr_view<T, O> a, bin_bsr<T>& out) {
  const std::int64_t* rowptr = out.rowptr.data();
  T* values = out.values.data();
  for_each_bin(ctx, out.bins, static_cast<std::int64_t>(out.values.size()), [&](index_t bin) {
    for (index_t r = bin * bin_rows; r < bin_end(bin, a.rows); ++r) fill_row(a, r, rowptr[r], values);
  });
}

/// Columns, masks and zeros of one bin, whether or not its rows are there.
template <scalar T, offset O>
void fill_bin(bsr_view<T, O> a, index_t bin, bin_bsr<T>& out) {
  const std::int64_t* rowptr = out.rowptr.data();
  const std::int64_t begin = rowptr[bin * std::int64_t{bin_rows}], end = rowptr[(bin + 1) * std::int64_t{bin_rows}];
  std::fill(out.colptr.data() + begin, out.colptr.data() + end, index_t{-1});
  std::fill(out.values.data() + begin * a.block, out.values.data() + end * a.block, T{0});
  if (!out.mask.empty()) std::fill(out.mask.data() + begin, out.mask.data() + end, std::uint8_t{0});
  for (index_t r = bin * bin_rows; r < bin_end(bin, a.rows); ++r) {
    std::int64_t slot = rowptr[r];
    for (O k = a.rowptr[r / a.block]; k < a.rowptr[r / a.block + 1]; ++k, slot += bin_rows) {
      out.colptr.data()[slot] = a.colind[k];
      if (!out.mask.empty()) out.mask.data()[slot] = row_bits(a.mask[k], r % a.block, a.block);
    }
    fill_row(a, r, rowptr[r], out.values.data());
  }
}

template <scalar T, offset O>
bin_bsr<T> bsr_to_bin_bsr(const context& ctx, bsr_view<T, O> a) {
  bin_bsr<T> out;
  out.rows = a.rows;
  out.cols = a.cols;
  out.nnz = a.nnz;
  out.block = a.block;
  out.bins = static_cast<index_t>((std::int64_t{a.rows} + bin_rows - 1) / bin_rows);
  buffer<std::int64_t> slots(ctx, static_cast<std::size_t>(out.bins) + 1);
  for_each_bin(ctx, out.bins, a.rows, [&](index_t bin) { slots.data()[bin + 1] = bin_length(a, bin) * bin_rows; });
  scan_counts(ctx.threads(), slots.data(), out.bins);
  out.rowptr = buffer<std::int64_t>(ctx, (static_cast<std::size_t>(out.bins) + 1) * bin_rows);
  for_each_bin(ctx, out.bins + 1, a.rows, [&](index_t bin) {
    for (index_t l = 0; l < bin_rows; ++l) out.rowptr.data()[std::int64_t{bin} * bin_rows + l] = slots.data()[bin] + l;
  });
  const auto all = static_cast<std::size_t>(slots.data()[out.bins]);
  out.colptr = buffer<index_t>(ctx, all);
  out.values = buffer<T>(ctx, all * static_cast<std::size_t>(a.block));
  if (a.mask != nullptr) out.mask = buffer<std::uint8_t>(ctx, all);
  for_each_bin(ctx, out.bins, static_cast<std::int64_t>(out.values.size()),
               [&](index_t bin) { fill_bin(a, bin, out); });
  return out;
}

/// Slots of a row that are used: they come first.
template <scalar T>
std::int64_t row_length(bin_bsr_view<T> a, index_t r) {
  const std::int64_t bin = r / bin_rows, width = (a.rowptr[(bin + 1) * bin_rows] - a.rowptr[bin * bin_rows]) / bin_rows;
  std::int64_t length = 0;
  while (length < width && a.colptr[a.rowptr[r] + length * bin_rows] >= 0) ++length;
  return length;
}

/// Of block row R; its rows past the matrix are 0.
template <scalar T, offset O>
void gather_values(bin_bsr_view<T> a, index_t R, const O* rowptr, T* values) {
  const index_t b = a.block, first = R * b;
  const index_t count = std::min(b, a.rows - first);
  for (O k = rowptr[R]; k < rowptr[R + 1]; ++k) {
    T* block = values + static_cast<std::int64_t>(k) * b * b;
    for (index_t i = 0; i < b; ++i) {
      const std::int64_t slot = i < count ? a.rowptr[first + i] + std::int64_t{k - rowptr[R]} * bin_rows : 0;
      for (index_t j = 0; j < b; ++j) {
        block[i * b + j] = i < count ? a.values[bin_place(slot, first + i, b) + j * bin_rows] : T{0};
      }
    }
  }
}

template <scalar T, offset O>
void update_bsr_of_bins(const context& ctx, bin_bsr_view<T> a, bsr<T, O>& out) {
  parallel_for(threads_for(ctx.threads(), static_cast<std::int64_t>(out.values.size())), out.block_rows, 64,
               [&](index_t R) { gather_values(a, R, out.rowptr.data(), out.values.data()); });
}

/// Columns and masks of block row R. What reaches past the matrix is not in the pattern.
template <scalar T, offset O>
void gather_pattern(bin_bsr_view<T> a, index_t R, bsr<T, O>& out) {
  const index_t b = a.block, first = R * b;
  const O* rowptr = out.rowptr.data();
  for (O k = rowptr[R]; k < rowptr[R + 1]; ++k) {
    const std::int64_t at = std::int64_t{k - rowptr[R]} * bin_rows;
    out.colind.data()[k] = a.colptr[a.rowptr[first] + at];
    if (out.mask.empty()) continue;
    std::uint64_t mask = 0;
    for (index_t i = 0; i < std::min(b, a.rows - first); ++i) {
      const std::uint64_t bits = a.mask == nullptr ? (1u << b) - 1 : a.mask[a.rowptr[first + i] + at];
      mask |= bits << (i * b);
    }
    out.mask.data()[k] = mask;
  }
}

template <scalar T, offset O>
bsr<T, O> bin_bsr_to_bsr(const context& ctx, bin_bsr_view<T> a) {
  bsr<T, O> out;
  out.rows = a.rows;
  out.cols = a.cols;
  out.nnz = a.nnz;
  out.block = a.block;
  out.block_rows = static_cast<index_t>((std::int64_t{a.rows} + a.block - 1) / a.block);
  out.rowptr = buffer<O>(ctx, static_cast<std::size_t>(out.block_rows) + 1);
  const int threads = threads_for(ctx.threads(), a.rows + a.nnz);
  parallel_for(threads, out.block_rows, 64,
               [&](index_t R) { out.rowptr.data()[R + 1] = static_cast<O>(row_length(a, R * a.block)); });
  scan_counts(ctx.threads(), out.rowptr.data(), out.block_rows);
  const auto blocks = static_cast<std::size_t>(out.rowptr.data()[out.block_rows]);
  out.colind = buffer<index_t>(ctx, blocks);
  out.values = buffer<T>(ctx, blocks * static_cast<std::size_t>(a.block * a.block));
  if (a.mask != nullptr || a.rows % a.block != 0) out.mask = buffer<std::uint64_t>(ctx, blocks);
  parallel_for(threads, out.block_rows, 64, [&](index_t R) { gather_pattern(a, R, out); });
  update_bsr_of_bins(ctx, a, out);
  return out;
}

/// The first defect of the slots of a row.
template <scalar T>
validation check_row(bin_bsr_view<T> a, std::int64_t r) {
  const std::int64_t bin = r / bin_rows;
  const std::int64_t width = (a.rowptr[(bin + 1) * bin_rows] - a.rowptr[bin * bin_rows]) / bin_rows;
  const std::int64_t block_cols = (std::int64_t{a.cols} + a.block - 1) / a.block;
  const std::int64_t first = r / a.block * a.block;  // of the block row
  const std::int64_t first_bin = first / bin_rows;
  const std::int64_t first_width = (a.rowptr[(first_bin + 1) * bin_rows] - a.rowptr[first_bin * bin_rows]) / bin_rows;
  for (std::int64_t k = 0; k < std::max(width, first_width); ++k) {
    const std::int64_t at = a.rowptr[r] + std::min(k, width - 1) * bin_rows;
    const index_t column = k < width ? a.colptr[at] : -1;
    const index_t want = r >= a.rows ? -1 : k < first_width ? a.colptr[a.rowptr[first] + k * bin_rows] : -1;
    const bool after_padding = k > 0 && k < width && column >= 0 && a.colptr[at - bin_rows] < 0;
    if (column < -1 || column >= block_cols || column != want || after_padding) {
      return {data_status::index_out_of_range, r, width > 0 ? at : -1};
    }
  }
  return {};
}

template <scalar T>
validation validate_bin_bsr(const context& ctx, bin_bsr_view<T> a) {
  const std::int64_t lanes = std::int64_t{a.bins} * bin_rows;
  const int threads = threads_for(ctx.threads(), lanes);
  const auto first_where = [&](const auto& is_bad) {
    return parallel_reduce(
        threads, lanes, rows_at_a_time, lanes,
        [&](std::int64_t r, std::int64_t& bad) {
          if (r < bad && is_bad(r)) bad = r;
        },
        [](std::int64_t& bad, std::int64_t other) { bad = std::min(bad, other); });
  };
  if (a.rowptr[0] != 0) return {data_status::invalid_offsets, a.rows > 0 ? 0 : -1, -1};
  const std::int64_t bad_offset = first_where([&](std::int64_t r) {
    const std::int64_t step = a.rowptr[r + 1] - a.rowptr[r];
    if ((r + 1) % bin_rows != 0) return step != 1;
    const std::int64_t slots = step + bin_rows - 1;
    return step < 1 - bin_rows || slots % bin_rows != 0;
  });
  if (bad_offset < lanes) return {data_status::invalid_offsets, bad_offset, -1};
  const std::int64_t bad_row = first_where([&](std::int64_t r) { return !check_row(a, r).ok(); });
  return bad_row < lanes ? check_row(a, bad_row) : validation{};
}

}  // namespace

template <scalar T, offset O>
void enter<T, O>::bin_bsr(table& made) {
  made.bsr_to_bin_bsr = bsr_to_bin_bsr<T, O>;
  made.bin_bsr_to_bsr = bin_bsr_to_bsr<T, O>;
  made.update_bin_bsr = update_bin_bsr<T, O>;
  made.update_bsr_of_bins = update_bsr_of_bins<T, O>;
  made.validate_bin_bsr = validate_bin_bsr<T>;
}

#define TULLE_INSTANTIATE(T, O) template void enter<T, O>::bin_bsr(table&);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle::cpu
