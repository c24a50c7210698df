// BSR -> bin_bsr.compact (kernels/bin_bsr.hpp).
#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <vector>

#include "core/instantiate.hpp"
#include "cpu/formats/formats.hpp"

namespace tulle::cpu {
namespace {

/// The lanes of all bins: block rows by decreasing length within windows of `sigma`, stable, and -1 past the last.
template <scalar T, offset O>
buffer<index_t> sorted_lanes(const context& ctx, bsr_view<T, O> a, index_t bins, index_t sigma) {
  const std::int64_t lanes = std::int64_t{bins} * bin_rows;
  buffer<index_t> perm(ctx, static_cast<std::size_t>(lanes));
  index_t* const p = perm.data();
  const auto length = [&](index_t R) { return a.rowptr[R + 1] - a.rowptr[R]; };
  std::iota(p, p + a.block_rows, index_t{0});
  std::fill(p + a.block_rows, p + lanes, index_t{-1});
  const std::int64_t windows = (std::int64_t{a.block_rows} + sigma - 1) / sigma;
  parallel_for(threads_for(ctx.threads(), a.block_rows), windows, 1, [&](std::int64_t window) {
    const std::int64_t first = window * sigma, last = std::min<std::int64_t>(first + sigma, a.block_rows);
    std::stable_sort(p + first, p + last, [&](index_t i, index_t j) { return length(i) > length(j); });
  });
  return perm;
}

/// Mask number `at`.
void put_mask(std::byte* masks, index_t block, std::int64_t at, std::uint64_t bits) {
  static_assert(std::endian::native == std::endian::little);  // the low bytes come first
  const int bytes = compact_mask_bytes(block);
  std::memcpy(masks + at * bytes, &bits, static_cast<std::size_t>(bytes));
}

/// One bin: its values, and unless `colind` is null its columns and masks.
template <scalar T, offset O>
void fill_bin(bsr_view<T, O> a, const compact_bin_bsr<T>& layout, index_t bin, index_t* colind, std::byte* mask,
              T* values) {
  const int area = a.block * a.block;
  const std::int64_t* binptr = layout.binptr.data();
  for (std::int64_t at = binptr[bin], k = 0; at < binptr[bin + 1]; at += bin_rows, ++k) {
    for (int l = 0; l < bin_rows; ++l) {
      const index_t R = layout.perm.data()[std::int64_t{bin} * bin_rows + l];
      const bool used = R >= 0 && k < a.rowptr[R + 1] - a.rowptr[R];
      const std::int64_t from = used ? a.rowptr[R] + k : 0;
      if (colind != nullptr) colind[at + l] = used ? a.colind[from] : -1;
      if (mask != nullptr) put_mask(mask, a.block, at + l, used ? a.mask[from] : 0);
      for (int e = 0; e < area; ++e) {
        values[at * area + compact_host_place(a.block, l, e / a.block, e % a.block)] =
            used ? a.values[from * area + e] : T{0};
      }
    }
  }
}

template <scalar T, offset O>
void fill(const context& ctx, bsr_view<T, O> a, compact_bin_bsr<T>& out, index_t* colind, std::byte* mask) {
  parallel_for(threads_for(ctx.threads(), static_cast<std::int64_t>(out.values.size())), out.bins, 16,
               [&](index_t bin) { fill_bin(a, out, bin, colind, mask, out.values.data()); });
}

template <scalar T, offset O>
compact_bin_bsr<T> bsr_to_compact(const context& ctx, bsr_view<T, O> a, index_t sigma) {
  compact_bin_bsr<T> out;
  out.rows = a.rows;
  out.cols = a.cols;
  out.blocks = a.blocks;
  out.block = a.block;
  out.bins = static_cast<index_t>((std::int64_t{a.block_rows} + bin_rows - 1) / bin_rows);
  out.perm = sorted_lanes(ctx, a, out.bins, sigma);
  out.binptr = buffer<std::int64_t>(ctx, static_cast<std::size_t>(out.bins) + 1);
  parallel_for(threads_for(ctx.threads(), a.block_rows), out.bins, [&](index_t bin) {
    std::int64_t length = 0;
    for (index_t l = 0; l < bin_rows; ++l) {
      const index_t R = out.perm.data()[std::int64_t{bin} * bin_rows + l];
      if (R >= 0) length = std::max<std::int64_t>(length, a.rowptr[R + 1] - a.rowptr[R]);
    }
    out.binptr.data()[bin + 1] = length * bin_rows;
  });
  scan_counts(ctx.threads(), out.binptr.data(), out.bins);
  const auto slots = static_cast<std::size_t>(out.binptr.data()[out.bins]);
  out.colind = buffer<index_t>(ctx, slots);
  out.values = buffer<T>(ctx, slots * static_cast<std::size_t>(a.block * a.block));
  if (a.mask != nullptr) out.mask = buffer<std::byte>(ctx, slots * compact_mask_bytes(a.block));
  fill(ctx, a, out, out.colind.data(), out.mask.data());
  return out;
}

template <scalar T, offset O>
void update_compact(const context& ctx, bsr_view<T, O> a, compact_bin_bsr<T>& out) {
  fill<T, O>(ctx, a, out, nullptr, nullptr);
}

}  // namespace

template <scalar T, offset O>
void enter<T, O>::compact(table& made) {
  made.bsr_to_compact = bsr_to_compact<T, O>;
  made.update_compact = update_compact<T, O>;
}

#define TULLE_INSTANTIATE(T, O) template void enter<T, O>::compact(table&);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle::cpu
