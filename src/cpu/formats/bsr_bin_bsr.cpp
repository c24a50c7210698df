// BSR <-> bin_bsr (views.hpp): scalar rows in bins of 32, each with the column of every block that it crosses.
#include <algorithm>

#include "core/instantiate.hpp"
#include "cpu/formats/formats.hpp"
#include "kernels/bin_rows.hpp"

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
void update_bin_bsr(const context& ctx, bsr_view<T, O> a, bin_bsr<T>& out) {
  const std::int64_t* rowptr = out.rowptr.data();
  T* values = out.values.data();
  for_each_bin(ctx, out.bins, static_cast<std::int64_t>(out.values.size()), [&](index_t bin) {
    for (index_t r = bin * bin_rows; r < bin_end(bin, a.rows); ++r) scatter_row(a, r, rowptr[r], values);
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
    scatter_row(a, r, rowptr[r], out.values.data());
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

template <scalar T, offset O>
void update_bsr_of_bins(const context& ctx, bin_bsr_view<T> a, bsr<T, O>& out) {
  parallel_for(threads_for(ctx.threads(), static_cast<std::int64_t>(out.values.size())), out.block_rows, 64,
               [&](index_t R) {
                 for (index_t i = 0; i < a.block; ++i) {
                   gather_row(a, std::int64_t{R} * a.block + i, out.rowptr.data(), out.values.data());
                 }
               });
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
  parallel_for(threads, out.block_rows, 64, [&](index_t R) {
    out.rowptr.data()[R + 1] = static_cast<O>(bin_row_length(a, std::int64_t{R} * a.block));
  });
  scan_counts(ctx.threads(), out.rowptr.data(), out.block_rows);
  const auto blocks = static_cast<std::size_t>(out.rowptr.data()[out.block_rows]);
  out.colind = buffer<index_t>(ctx, blocks);
  out.values = buffer<T>(ctx, blocks * static_cast<std::size_t>(a.block * a.block));
  if (a.mask != nullptr || a.rows % a.block != 0) out.mask = buffer<std::uint64_t>(ctx, blocks);
  parallel_for(threads, out.block_rows, 64,
               [&](index_t R) { gather_pattern(a, R, out.rowptr.data(), out.colind.data(), out.mask.data()); });
  update_bsr_of_bins(ctx, a, out);
  return out;
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
  const std::int64_t bad_offset = first_where([&](std::int64_t r) { return has_bad_offset(a, r); });
  if (bad_offset < lanes) return {data_status::invalid_offsets, bad_offset, -1};
  const std::int64_t bad_row = first_where([&](std::int64_t r) { return bad_slot(a, r) != no_bad_slot; });
  if (bad_row == lanes) return {};
  return {data_status::index_out_of_range, bad_row, bad_slot(a, bad_row)};
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
