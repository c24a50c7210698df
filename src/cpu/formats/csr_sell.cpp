// CSR <-> SELL-32-sigma (Kreutzer et al., SISC 2014).
#include <algorithm>
#include <numeric>
#include <tulle/core/status.hpp>

#include "core/instantiate.hpp"
#include "cpu/formats/formats.hpp"

namespace tulle::cpu {
namespace {

/// Sorts rows by decreasing length within windows of `sigma`, stable; lanes past the last row hold -1.
/// An empty buffer when every row stays in place.
template <offset O>
buffer<index_t> sort_windows(const context& ctx, index_t rows, const O* rowptr, index_t slices, index_t sigma) {
  if (sigma == 1) return {};
  const std::int64_t lanes = static_cast<std::int64_t>(slices) * sell_slice_rows;
  buffer<index_t> perm(ctx, static_cast<std::size_t>(lanes));
  index_t* const p = perm.data();
  const auto length = [&](index_t r) { return rowptr[r + 1] - rowptr[r]; };
  const std::int64_t windows = (std::int64_t{rows} + sigma - 1) / sigma;
  const bool in_place = parallel_all(threads_for(ctx.threads(), rows), windows, 1, [&](std::int64_t window) {
    const std::int64_t first = window * sigma;
    const std::int64_t last = std::min<std::int64_t>(first + sigma, rows);
    std::iota(p + first, p + last, static_cast<index_t>(first));
    const auto longer = [&](index_t i, index_t j) { return length(i) != length(j) ? length(i) > length(j) : i < j; };
    if (std::is_sorted(p + first, p + last, longer)) return true;
    std::sort(p + first, p + last, longer);
    return false;
  });
  if (in_place) return {};
  std::fill(p + rows, p + lanes, index_t{-1});
  return perm;
}

/// The row that a lane holds, or -1.
index_t row_of(const index_t* perm, std::int64_t lane, index_t rows) {
  if (perm != nullptr) return perm[lane];
  return lane < rows ? static_cast<index_t>(lane) : -1;
}

/// Writes the values, and the column indices unless `colind` is null. False when a row is longer than its slice.
template <scalar T, offset O>
bool fill_sell(const context& ctx, csr_view<T, O> a, const sell<T>& layout, index_t* colind, T* values) {
  const std::int64_t* sliceptr = layout.sliceptr.data();
  return parallel_all(threads_for(ctx, a), layout.slices, 64, [&](index_t slice) {
    const std::int64_t at = sliceptr[slice], first = static_cast<std::int64_t>(slice) * sell_slice_rows;
    return fill_slots(
        a, sell_slice_rows, [&](index_t l) { return row_of(layout.perm.data(), first + l, a.rows); },
        (sliceptr[slice + 1] - at) / sell_slice_rows, sell_slice_rows, colind == nullptr ? nullptr : colind + at,
        values + at);
  });
}

template <scalar T, offset O>
sell<T> csr_to_sell(const context& ctx, csr_view<T, O> a, index_t sigma) {
  sell<T> out;
  out.rows = a.rows;
  out.cols = a.cols;
  out.nnz = a.nnz;
  out.slices = static_cast<index_t>((static_cast<std::int64_t>(a.rows) + sell_slice_rows - 1) / sell_slice_rows);
  out.perm = sort_windows(ctx, a.rows, a.rowptr, out.slices, sigma);
  out.sliceptr = buffer<std::int64_t>(ctx, static_cast<std::size_t>(out.slices) + 1);
  std::int64_t* sliceptr = out.sliceptr.data();
  parallel_for(threads_for(ctx.threads(), a.rows), out.slices, [&](index_t slice) {
    std::int64_t width = 0;
    for (index_t l = 0; l < sell_slice_rows; ++l) {
      const index_t r = row_of(out.perm.data(), static_cast<std::int64_t>(slice) * sell_slice_rows + l, a.rows);
      if (r >= 0) width = std::max<std::int64_t>(width, a.rowptr[r + 1] - a.rowptr[r]);
    }
    sliceptr[slice + 1] = width * sell_slice_rows;
  });
  scan_counts(ctx.threads(), sliceptr, out.slices);
  out.colind = buffer<index_t>(ctx, static_cast<std::size_t>(sliceptr[out.slices]));
  out.values = buffer<T>(ctx, static_cast<std::size_t>(sliceptr[out.slices]));
  fill_sell(ctx, a, out, out.colind.data(), out.values.data());
  return out;
}

template <scalar T, offset O>
void update_sell(const context& ctx, csr_view<T, O> from, sell<T>& to) {
  if (!fill_sell<T, O>(ctx, from, to, nullptr, to.values.data())) {
    throw error(status::invalid_structure, "update_values: the CSR has a longer row than the SELL made from it");
  }
}

template <scalar T, offset O>
csr<T, O> sell_to_csr(const context& ctx, sell_view<T> a) {
  return gather_rows<T, O>(
      ctx, {a.rows, a.cols}, static_cast<std::int64_t>(a.slices) * sell_slice_rows,
      [&](std::int64_t lane) { return row_of(a.perm, lane, a.rows); },
      [&](std::int64_t lane, auto f) {
        const std::int64_t* slice = a.sliceptr + lane / sell_slice_rows;
        for (std::int64_t k = slice[0] + lane % sell_slice_rows; k < slice[1]; k += sell_slice_rows) {
          if (a.colind[k] >= 0) f(a.colind[k], a.values[k]);
        }
      });
}

}  // namespace

template <scalar T, offset O>
void enter<T, O>::sell(table& made) {
  made.csr_to_sell = csr_to_sell<T, O>;
  made.sell_to_csr = sell_to_csr<T, O>;
  made.update_sell = update_sell<T, O>;
}

#define TULLE_INSTANTIATE(T, O) template void enter<T, O>::sell(table&);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle::cpu
