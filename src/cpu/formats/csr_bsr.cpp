// CSR <-> BSR: the distinct block columns of a block row by sorting, then the places of every entry.
#include <algorithm>
#include <bit>
#include <tulle/core/status.hpp>

#include "core/instantiate.hpp"
#include "core/wrapping_sum.hpp"
#include "cpu/formats/formats.hpp"

namespace tulle::cpu {
namespace {

/// Calls f(entry, block, place) for every entry of block row R in storage order. False when a block is missing.
template <scalar T, offset O, class F>
bool for_each_place(csr_view<T, O> a, index_t block_row, index_t b, const O* rowptr, const index_t* colind, F f) {
  const index_t* first = colind + rowptr[block_row];
  const index_t* last = colind + rowptr[block_row + 1];
  const std::int64_t top = static_cast<std::int64_t>(block_row) * b;
  for (std::int64_t r = top; r < std::min<std::int64_t>(top + b, a.rows); ++r) {
    for (O k = a.rowptr[r]; k < a.rowptr[r + 1]; ++k) {
      const index_t block_col = a.colind[k] / b;
      const index_t* at = std::lower_bound(first, last, block_col);
      if (at == last || *at != block_col) return false;
      f(k, at - colind, static_cast<int>((r - top) * b + a.colind[k] % b));
    }
  }
  return true;
}

/// Values of one block row. Places of the pattern start as -0, the neutral element of addition, so that a stored -0
/// survives; the others stay 0.
template <scalar T, offset O>
bool fill_values(csr_view<T, O> a, index_t block_row, bsr<T, O>& out) {
  const int size = out.block * out.block;
  const O* rowptr = out.rowptr.data();
  const std::uint64_t* mask = out.mask.data();
  T* values = out.values.data();
  const T neutral = static_cast<T>(-0.0);
  for (O k = rowptr[block_row]; k < rowptr[block_row + 1]; ++k) {
    T* block = values + static_cast<std::int64_t>(k) * size;
    for (int i = 0; i < size; ++i) block[i] = mask == nullptr || (mask[k] >> i & 1) != 0 ? neutral : T{0};
  }
  return for_each_place(a, block_row, out.block, rowptr, out.colind.data(), [&](O k, std::int64_t block, int place) {
    T& value = values[block * size + place];
    value = wrapping_sum(value, a.values[k]);
  });
}

template <scalar T, offset O>
void update_bsr(const context& ctx, csr_view<T, O> a, bsr<T, O>& out) {
  const bool found = parallel_all(threads_for(ctx, a), out.block_rows, 64,
                                  [&](index_t block_row) { return fill_values(a, block_row, out); });
  if (!found) throw error(status::invalid_structure, "update_values: the CSR has an entry outside the BSR's blocks");
}

/// Distinct block columns of every block row, sorted, at the front of its share of the returned array; their counts
/// in rowptr[block_row + 1].
template <scalar T, offset O>
buffer<index_t> distinct_blocks(const context& ctx, csr_view<T, O> a, index_t b, index_t block_rows, O* rowptr) {
  buffer<index_t> blocks(ctx, static_cast<std::size_t>(a.nnz));
  parallel_for(threads_for(ctx, a), block_rows, 64, [&](index_t block_row) {
    const std::int64_t top = static_cast<std::int64_t>(block_row) * b;
    const O begin = a.rowptr[top];
    const O end = a.rowptr[std::min<std::int64_t>(top + b, a.rows)];
    index_t* first = blocks.data() + begin;
    index_t* last = std::transform(a.colind + begin, a.colind + end, first, [b](index_t c) { return c / b; });
    std::sort(first, last);
    rowptr[block_row + 1] = static_cast<O>(std::unique(first, last) - first);
  });
  return blocks;
}

template <scalar T, offset O>
bsr<T, O> csr_to_bsr(const context& ctx, csr_view<T, O> a, index_t block) {
  bsr<T, O> out;
  out.rows = a.rows;
  out.cols = a.cols;
  out.block = block;
  out.block_rows = static_cast<index_t>((static_cast<std::int64_t>(a.rows) + block - 1) / block);
  out.rowptr = buffer<O>(ctx, static_cast<std::size_t>(out.block_rows) + 1);
  O* rowptr = out.rowptr.data();
  const buffer<index_t> distinct = distinct_blocks(ctx, a, block, out.block_rows, rowptr);
  scan_counts(ctx.threads(), rowptr, out.block_rows);

  const auto blocks = static_cast<std::size_t>(rowptr[out.block_rows]);
  const auto places = static_cast<std::size_t>(block) * static_cast<std::size_t>(block);
  out.colind = buffer<index_t>(ctx, blocks);
  out.mask = buffer<std::uint64_t>(ctx, blocks);
  out.values = buffer<T>(ctx, blocks * places);
  index_t* colind = out.colind.data();
  std::uint64_t* mask = out.mask.data();
  const auto mark_places = [&](index_t block_row, std::int64_t& nnz) {
    const O begin = rowptr[block_row];
    const O count = rowptr[block_row + 1] - begin;
    std::copy_n(distinct.data() + a.rowptr[static_cast<std::int64_t>(block_row) * block], count, colind + begin);
    std::fill_n(mask + begin, count, std::uint64_t{0});
    for_each_place(a, block_row, block, rowptr, colind,
                   [&](O, std::int64_t k, int place) { mask[k] |= std::uint64_t{1} << place; });
    for (O k = begin; k < begin + count; ++k) nnz += std::popcount(mask[k]);
  };
  out.nnz = parallel_reduce(threads_for(ctx, a), out.block_rows, 64, std::int64_t{0}, mark_places,
                            [](std::int64_t& all, std::int64_t mine) { all += mine; });
  if (out.nnz == static_cast<std::int64_t>(blocks * places)) out.mask = {};
  update_bsr(ctx, a, out);
  return out;
}

template <scalar T, offset O>
csr<T, O> bsr_to_csr(const context& ctx, bsr_view<T, O> a) {
  return gather_rows<T, O>(
      ctx, {a.rows, a.cols}, a.rows, [](std::int64_t row) { return static_cast<index_t>(row); },
      [&](std::int64_t row, auto f) {
        const std::int64_t i = row % a.block;
        for (O k = a.rowptr[row / a.block]; k < a.rowptr[row / a.block + 1]; ++k) {
          for (index_t j = 0; j < a.block; ++j) {
            const std::int64_t place = i * a.block + j, column = static_cast<std::int64_t>(a.colind[k]) * a.block + j;
            if (column >= a.cols || (a.mask != nullptr && (a.mask[k] >> place & 1) == 0)) continue;
            f(static_cast<index_t>(column), a.values[static_cast<std::int64_t>(k) * a.block * a.block + place]);
          }
        }
      });
}

}  // namespace

template <scalar T, offset O>
void enter<T, O>::bsr(table& made) {
  made.csr_to_bsr = csr_to_bsr<T, O>;
  made.bsr_to_csr = bsr_to_csr<T, O>;
  made.update_bsr = update_bsr<T, O>;
}

#define TULLE_INSTANTIATE(T, O) template void enter<T, O>::bsr(table&);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle::cpu
