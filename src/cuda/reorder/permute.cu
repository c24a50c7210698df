// Orders checked, and the entries of a matrix in another order: row lengths in the new order, a scan, a copy, and where
// columns are to ascend one radix sort by (row, column).
//
// One thread: an element of the order, a row, or an entry. About 40 bytes per nonzero, 32 for every 8 bits of the sort
// beside. Used in set-up.
#include "cuda/reorder/reorder.hpp"
#include "cuda/runtime/entries.cuh"
#include "cuda/runtime/primitives.hpp"
#include "cuda/runtime/read_back.hpp"

namespace tulle::cuda {
namespace {

template <class N>
std::int64_t take_typed(const context& ctx, const N* from, std::int64_t n, index_t* order, index_t* inverse) {
  fill_bytes(ctx, inverse, memory_space::device, 0x7f, static_cast<std::size_t>(n) * sizeof(index_t));
  auto first = device_value<long long>(ctx, 0x7f);
  long long* const defect = first.data();
  for_each_item(ctx, "take_order", n, [=] __device__(std::int64_t i) {
    const N value = from[i];
    const bool there = value >= 0 && value < n;
    order[i] = there ? static_cast<index_t>(value) : 0;
    if (there) {
      atomicMin(inverse + value, static_cast<index_t>(i));
    } else {
      atomicMin(defect, static_cast<long long>(i));
    }
  });
  for_each_item(ctx, "check_order", n, [=] __device__(std::int64_t i) {
    const N value = from[i];
    if (value >= 0 && value < n && inverse[value] != i) atomicMin(defect, static_cast<long long>(i));
  });
  return std::min(n, static_cast<std::int64_t>(read_back(ctx, defect)));
}

template <offset O>
entry_map permute_typed(const context& ctx, const matrix_ref& a, const matrix_order& order) {
  const O* const from = static_cast<const O*>(a.rowptr);
  const index_t* const rows = order.rows;
  const index_t* const columns = order.inverse_columns;
  const index_t* const old_colind = a.colind;
  auto starts = zero_counts(ctx, a.rows);
  std::int64_t* const counts = starts.data();
  for_each_item(ctx, "count_rows", a.rows, [=] __device__(std::int64_t i) {
    const index_t row = rows != nullptr ? rows[i] : static_cast<index_t>(i);
    counts[i] = from[row + 1] - from[row];
  });
  exclusive_scan(ctx, starts);
  buffer<O> rowptr(ctx, static_cast<std::size_t>(a.rows) + 1);
  O* const offsets = rowptr.data();
  for_each_item(ctx, "offsets", std::int64_t{a.rows} + 1,
                [=] __device__(std::int64_t i) { offsets[i] = static_cast<O>(counts[i]); });
  const auto nnz = static_cast<std::size_t>(a.nnz);
  entry_map out{{}, buffer<index_t>(ctx, nnz), buffer<std::int64_t>(ctx, nnz)};
  index_t* const colind = out.colind.data();
  std::int64_t* const positions = out.positions.data();
  const auto position = [=] __device__(index_t i, std::int64_t k) {
    return from[rows != nullptr ? rows[i] : i] + (k - offsets[i]);
  };
  const auto column = [=] __device__(std::int64_t old) {
    return columns != nullptr ? columns[old_colind[old]] : old_colind[old];
  };
  if (!order.sorted) {
    for_each_entry(ctx, "permute_entries", a.nnz, a.rows, offsets, [=] __device__(index_t i, std::int64_t k) {
      positions[k] = position(i, k);
      colind[k] = column(positions[k]);
    });
  } else {
    buffer<std::uint64_t> keys(ctx, nnz);
    std::uint64_t* key = keys.data();
    const int bits = bits_for(a.cols);
    for_each_entry(ctx, "permute_keys", a.nnz, a.rows, offsets, [=] __device__(index_t i, std::int64_t k) {
      positions[k] = position(i, k);
      key[k] = static_cast<std::uint64_t>(i) << bits | static_cast<std::uint64_t>(column(positions[k]));
    });
    sort_pairs(ctx, keys, out.positions, 0, bits + bits_for(a.rows));
    key = keys.data();
    for_each_item(ctx, "columns_of_keys", a.nnz, [=] __device__(std::int64_t k) {
      colind[k] = static_cast<index_t>(key[k] & ((std::uint64_t{1} << bits) - 1));
    });
  }
  out.rowptr = std::move(rowptr);
  return out;
}

}  // namespace

std::int64_t take_order(const context& ctx, const permutation_ref& from, index_t* order, index_t* inverse) {
  return from.type == offset_type::i32
             ? take_typed(ctx, static_cast<const std::int32_t*>(from.data), from.size, order, inverse)
             : take_typed(ctx, static_cast<const std::int64_t*>(from.data), from.size, order, inverse);
}

entry_map permute_entries(const context& ctx, const matrix_ref& a, const matrix_order& order) {
  return a.types.offset == offset_type::i32 ? permute_typed<std::int32_t>(ctx, a, order)
                                            : permute_typed<std::int64_t>(ctx, a, order);
}

}  // namespace tulle::cuda
