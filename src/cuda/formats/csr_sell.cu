// CSR <-> SELL-32-sigma (Kreutzer et al., SISC 2014). Threads take equal numbers of slots, whatever the slices' widths.
#include <tulle/core/status.hpp>

#include "core/instantiate.hpp"
#include "cuda/device/warp.cuh"
#include "cuda/formats/collect_rows.cuh"
#include "cuda/formats/formats.hpp"
#include "cuda/formats/sell_order.hpp"
#include "cuda/runtime/entries.cuh"
#include "cuda/runtime/read_back.hpp"

namespace tulle::cuda {
namespace {

template <class O>
__device__ std::int64_t row_length(const O* rowptr, std::int64_t row) {
  return std::int64_t{rowptr[row + 1]} - rowptr[row];
}

/// Sets *moves if a row is longer than the one before it in its window.
template <class O>
__global__ void find_moves(index_t rows, const O* rowptr, index_t sigma, int* moves) {
  bool found = false;
  for (std::int64_t r = grid_thread(); r < rows; r += grid_stride()) {
    found |= r % sigma != 0 && row_length(rowptr, r) > row_length(rowptr, r - 1);
  }
  if (found) atomicOr(moves, 1);
}

/// The row that a lane holds, or -1.
__device__ index_t lane_row(const index_t* perm, std::int64_t lane, index_t rows) {
  if (perm != nullptr) return perm[lane];
  return lane < rows ? static_cast<index_t>(lane) : -1;
}

/// Writes the values, and the column indices unless `colind` is null.
template <class T, class O>
void fill_slots(const context& ctx, csr_view<T, O> a, sell<T>& to, index_t* colind) {
  const auto fill = [a, colind, values = to.values.data(), sliceptr = to.sliceptr.data(),
                     perm = to.perm.data()] __device__(index_t slice, std::int64_t slot) {
    const std::int64_t lane = std::int64_t{slice} * sell_slice_rows + slot % sell_slice_rows;
    const std::int64_t position = (slot - sliceptr[slice]) / sell_slice_rows;
    const index_t row = lane_row(perm, lane, a.rows);
    const bool used = row >= 0 && position < a.rowptr[row + 1] - a.rowptr[row];
    const std::int64_t k = used ? a.rowptr[row] + position : 0;
    values[slot] = used ? a.values[k] : T{0};
    if (colind != nullptr) colind[slot] = used ? a.colind[k] : -1;
  };
  for_each_entry(ctx, "sell.fill_slots", static_cast<std::int64_t>(to.values.size()), to.slices, to.sliceptr.data(),
                 fill);
}

/// The slots of every lane, for collect_rows.
template <class T>
struct sell_lanes {
  sell_view<T> a;

  __device__ index_t row(std::int64_t lane) const { return lane_row(a.perm, lane, a.rows); }
  template <class F>
  __device__ void for_each(std::int64_t lane, F f) const {
    const std::int64_t slice = lane / sell_slice_rows;
    for (std::int64_t slot = a.sliceptr[slice] + lane % sell_slice_rows; slot < a.sliceptr[slice + 1];
         slot += sell_slice_rows) {
      if (a.colind[slot] >= 0) f(a.colind[slot], slot);
    }
  }
};

}  // namespace

/// By two stable radix sorts of (key, row) packed into 64 bits, by decreasing length and then by window.
template <offset O>
buffer<index_t> sell_order(const context& ctx, index_t rows, const O* rowptr, index_t sigma) {
  if (sigma == 1) return {};
  auto moves = device_value<int>(ctx);
  launch_items(ctx, "sell.find_moves", find_moves<O>, rows, rows, rowptr, sigma, moves.data());
  if (read_back(ctx, moves.data()) == 0) return {};

  const std::int64_t most = longest(ctx, rows, rowptr);
  const int row_bits = bits_for(rows);
  buffer<std::uint64_t> keys(ctx, static_cast<std::size_t>(rows));
  for_each_item(ctx, "sell.pack_lengths", rows, [=, keys = keys.data()] __device__(std::int64_t r) {
    const auto shortfall = static_cast<std::uint64_t>(most - row_length(rowptr, r));
    keys[r] = shortfall << row_bits | static_cast<std::uint64_t>(r);
  });
  sort_keys(ctx, keys, row_bits, row_bits + bits_for(most + 1));
  const std::uint64_t row_mask = (std::uint64_t{1} << row_bits) - 1;
  for_each_item(ctx, "sell.pack_windows", rows, [=, keys = keys.data()] __device__(std::int64_t i) {
    const std::uint64_t row = keys[i] & row_mask;
    keys[i] = row / static_cast<std::uint64_t>(sigma) << row_bits | row;
  });
  sort_keys(ctx, keys, row_bits, row_bits + bits_for(ceil_div(rows, sigma)));

  const std::int64_t lanes = ceil_div(rows, sell_slice_rows) * sell_slice_rows;
  buffer<index_t> perm(ctx, static_cast<std::size_t>(lanes));
  for_each_item(ctx, "sell.unpack_rows", lanes, [=, keys = keys.data(), perm = perm.data()] __device__(std::int64_t i) {
    perm[i] = i < rows ? static_cast<index_t>(keys[i] & row_mask) : -1;
  });
  return perm;
}

template <scalar T, offset O>
sell<T> csr_to_sell(const context& ctx, csr_view<T, O> a, index_t sigma) {
  sell<T> out;
  out.rows = a.rows;
  out.cols = a.cols;
  out.nnz = a.nnz;
  out.slices = static_cast<index_t>(ceil_div(a.rows, sell_slice_rows));
  out.perm = sell_order(ctx, a.rows, a.rowptr, sigma);
  out.sliceptr = zero_counts(ctx, out.slices);
  const auto count_slots = [a, perm = out.perm.data(), slots = out.sliceptr.data()] __device__(std::int64_t lane) {
    const index_t row = lane_row(perm, lane, a.rows);  // one thread per lane, whole warps
    const std::int64_t length = row < 0 ? 0 : std::int64_t{a.rowptr[row + 1]} - a.rowptr[row];
    const std::int64_t width = warp_max(length);
    if (lane_id() == 0) slots[lane / sell_slice_rows] = width * sell_slice_rows;
  };
  for_each_item(ctx, "sell.count_slots", std::int64_t{out.slices} * sell_slice_rows, count_slots);
  exclusive_scan(ctx, out.sliceptr);
  const std::int64_t slots = read_back(ctx, out.sliceptr.data() + out.slices);
  out.colind = buffer<index_t>(ctx, static_cast<std::size_t>(slots));
  out.values = buffer<T>(ctx, static_cast<std::size_t>(slots));
  fill_slots(ctx, a, out, out.colind.data());
  return out;
}

template <scalar T, offset O>
void update_sell(const context& ctx, csr_view<T, O> from, sell<T>& to) {
  fill_slots(ctx, from, to, nullptr);
  auto too_long = device_value<int>(ctx);
  const auto check_fit = [from, too_long = too_long.data(), sliceptr = to.sliceptr.data(),
                          perm = to.perm.data()] __device__(std::int64_t lane) {
    const index_t row = lane_row(perm, lane, from.rows);
    const std::int64_t slice = lane / sell_slice_rows;
    const std::int64_t width = (sliceptr[slice + 1] - sliceptr[slice]) / sell_slice_rows;
    if (row >= 0 && from.rowptr[row + 1] - from.rowptr[row] > width) atomicOr(too_long, 1);
  };
  for_each_item(ctx, "sell.check_fit", std::int64_t{to.slices} * sell_slice_rows, check_fit);
  if (read_back(ctx, too_long.data()) != 0) {
    throw error(status::invalid_structure, "update_values: the CSR has a longer row than the SELL made from it");
  }
}

template <scalar T, offset O>
csr<T, O> sell_to_csr(const context& ctx, sell_view<T> a) {
  return collect_rows<T, O>(ctx, a, std::int64_t{a.slices} * sell_slice_rows, sell_lanes<T>{a});
}

template buffer<index_t> sell_order(const context&, index_t, const std::int32_t*, index_t);
template buffer<index_t> sell_order(const context&, index_t, const std::int64_t*, index_t);
#define TULLE_INSTANTIATE(T, O)                                                \
  template sell<T> csr_to_sell<T, O>(const context&, csr_view<T, O>, index_t); \
  template csr<T, O> sell_to_csr<T, O>(const context&, sell_view<T>);          \
  template void update_sell<T, O>(const context&, csr_view<T, O>, sell<T>&);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle::cuda
