// Other orders of the same entries: transposition by one stable radix sort of (column, position) keys (as CSR -> CSC),
// a sort of all rows by transposing twice, and a look at how columns follow one another.
//
// One thread: an entry. Transposition: 28 bytes an entry of scratch and result beside the radix passes. Used in set-up.
#include <utility>

#include "cuda/device/warp.cuh"
#include "cuda/formats/major_order.hpp"
#include "cuda/formats/offsets.hpp"
#include "cuda/matrix/matrix.hpp"
#include "cuda/runtime/entries.cuh"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/read_back.hpp"

namespace tulle::cuda {
namespace {

__global__ void split_keys(const std::uint64_t* keys, std::int64_t n, std::uint64_t position_mask, const index_t* rows,
                           index_t* colind, std::int64_t* positions) {
  for (std::int64_t i = grid_thread(); i < n; i += grid_stride()) {
    const auto k = static_cast<std::int64_t>(keys[i] & position_mask);
    colind[i] = rows[k];
    positions[i] = k;
  }
}

template <offset O>
entry_map transpose_typed(const context& ctx, index_t rows, index_t cols, std::int64_t nnz, const O* rowptr,
                          const index_t* colind) {
  const auto n = static_cast<std::size_t>(nnz);
  buffer<index_t> row_of_entry(ctx, n);
  expand_rows(ctx, rows, rowptr, nnz, row_of_entry.data());
  auto [offsets, keys, position_mask] = order_by<O>(ctx, nnz, cols, colind);
  entry_map out{std::move(offsets), buffer<index_t>(ctx, n), buffer<std::int64_t>(ctx, n)};
  launch_items(ctx, "split_keys", split_keys, nnz, keys.data(), nnz, position_mask, row_of_entry.data(),
               out.colind.data(), out.positions.data());
  return out;
}

/// second[i] = first[second[i]].
__global__ void compose(std::int64_t n, const std::int64_t* first, std::int64_t* second) {
  for (std::int64_t i = grid_thread(); i < n; i += grid_stride()) second[i] = first[second[i]];
}

struct order_counts {
  unsigned long long falls, repeats;
};

/// Falls and repeats over all entries, less those from the last entry of a row to the first of the next.
template <class O>
__global__ void count_order(index_t rows, std::int64_t nnz, const O* rowptr, const index_t* colind,
                            order_counts* counts) {
  long long falls = 0, repeats = 0;
  for (std::int64_t k = grid_thread() + 1; k < nnz; k += grid_stride()) {
    falls += colind[k] < colind[k - 1];
    repeats += colind[k] == colind[k - 1];
  }
  for (std::int64_t r = grid_thread(); r < rows; r += grid_stride()) {
    const std::int64_t k = rowptr[r];
    if (k == 0 || k == rowptr[r + 1]) continue;
    falls -= colind[k] < colind[k - 1];
    repeats -= colind[k] == colind[k - 1];
  }
  falls = warp_sum(falls);
  repeats = warp_sum(repeats);
  if (lane_id() != 0) return;
  atomicAdd(&counts->falls, static_cast<unsigned long long>(falls));
  atomicAdd(&counts->repeats, static_cast<unsigned long long>(repeats));
}

}  // namespace

entry_map transpose_pattern(const context& ctx, const matrix_ref& a) {
  return dispatch_offset(a.types.offset, [&]<class O>() {
    return transpose_typed<O>(ctx, a.rows, a.cols, a.nnz, static_cast<const O*>(a.rowptr), a.colind);
  });
}

entry_map sort_pattern(const context& ctx, const matrix_ref& a) {
  return dispatch_offset(a.types.offset, [&]<class O>() {
    const entry_map columns = transpose_typed<O>(ctx, a.rows, a.cols, a.nnz, static_cast<const O*>(a.rowptr), a.colind);
    entry_map rows = transpose_typed<O>(ctx, a.cols, a.rows, a.nnz, std::get<buffer<O>>(columns.rowptr).data(),
                                        columns.colind.data());
    launch_items(ctx, "compose", compose, a.nnz, a.nnz, columns.positions.data(), rows.positions.data());
    return rows;
  });
}

column_order order_of_columns(const context& ctx, const matrix_ref& a) {
  return dispatch_offset(a.types.offset, [&]<class O>() -> column_order {
    auto counts = device_value<order_counts>(ctx);
    launch_items(ctx, "count_order", count_order<O>, std::max(a.nnz, std::int64_t{a.rows}), a.rows, a.nnz,
                 static_cast<const O*>(a.rowptr), a.colind, counts.data());
    const auto found = read_back(ctx, counts.data());
    return {found.falls == 0, found.repeats == 0};
  });
}

}  // namespace tulle::cuda
