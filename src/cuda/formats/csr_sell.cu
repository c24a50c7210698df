// CSR <-> SELL-32-sigma (Kreutzer et al., SISC 2014). Threads take equal numbers of slots, whatever the slices' widths.
#include <tulle/core/status.hpp>

#include "core/instantiate.hpp"
#include "cuda/runtime/entries.cuh"
#include "cuda/formats/formats.hpp"
#include "cuda/runtime/launch.cuh"
#include "cuda/formats/offsets.hpp"
#include "cuda/runtime/primitives.hpp"
#include "cuda/formats/sell_order.hpp"
#include "cuda/device/warp.cuh"
#include "cuda/runtime/read_back.hpp"

namespace tulle::cuda {
namespace {

/// The row that a lane holds, or -1.
__device__ index_t lane_row(const index_t* perm, std::int64_t lane, index_t rows) {
  if (perm != nullptr) return perm[lane];
  return lane < rows ? static_cast<index_t>(lane) : -1;
}

/// One thread per lane; slots[i] becomes the slots of slice i.
template <class O>
__global__ void slice_slots(index_t rows, const O* rowptr, const index_t* perm, std::int64_t lanes,
                            std::int64_t* slots) {
  for (std::int64_t lane = grid_thread(); lane < lanes; lane += grid_stride()) {  // lanes and steps are whole warps
    const index_t row = lane_row(perm, lane, rows);
    const std::int64_t length = row < 0 ? 0 : std::int64_t{rowptr[row + 1]} - rowptr[row];
    const std::int64_t width = warp_max(length);
    if (lane_id() == 0) slots[lane / sell_slice_rows] = width * sell_slice_rows;
  }
}

/// Where a SELL's slots are.
struct sell_layout {
  index_t slices;
  const std::int64_t* sliceptr;
  const index_t* perm;
};

/// Writes the values, and the column indices unless `colind` is null.
template <class T, class O>
__global__ void fill_slots(csr_view<T, O> a, sell_layout to, index_t* colind, T* values) {
  for_each_entry(to.slices, to.sliceptr, [&](index_t slice, std::int64_t slot, bool active) {
    if (!active) return;
    const std::int64_t lane = std::int64_t{slice} * sell_slice_rows + slot % sell_slice_rows;
    const std::int64_t position = (slot - to.sliceptr[slice]) / sell_slice_rows;
    const index_t row = lane_row(to.perm, lane, a.rows);
    const bool used = row >= 0 && position < a.rowptr[row + 1] - a.rowptr[row];
    const std::int64_t k = used ? a.rowptr[row] + position : 0;
    values[slot] = used ? a.values[k] : T{0};
    if (colind != nullptr) colind[slot] = used ? a.colind[k] : -1;
  });
}

template <class O>
__global__ void check_fit(index_t rows, const O* rowptr, sell_layout to, int* too_long) {
  for (std::int64_t lane = grid_thread(); lane < std::int64_t{to.slices} * sell_slice_rows; lane += grid_stride()) {
    const index_t row = lane_row(to.perm, lane, rows);
    const std::int64_t slice = lane / sell_slice_rows;
    const std::int64_t width = (to.sliceptr[slice + 1] - to.sliceptr[slice]) / sell_slice_rows;
    if (row >= 0 && rowptr[row + 1] - rowptr[row] > width) atomicOr(too_long, 1);
  }
}

/// f(slot) for every entry of a lane.
template <class T, class F>
__device__ void for_each_slot(const sell_view<T>& a, std::int64_t lane, F f) {
  const std::int64_t slice = lane / sell_slice_rows;
  for (std::int64_t slot = a.sliceptr[slice] + lane % sell_slice_rows; slot < a.sliceptr[slice + 1];
       slot += sell_slice_rows) {
    if (a.colind[slot] >= 0) f(slot);
  }
}

template <class T>
__global__ void count_kernel(sell_view<T> a, std::int64_t* counts) {
  for (std::int64_t lane = grid_thread(); lane < std::int64_t{a.slices} * sell_slice_rows; lane += grid_stride()) {
    const index_t row = lane_row(a.perm, lane, a.rows);
    if (row < 0) continue;
    std::int64_t count = 0;
    for_each_slot(a, lane, [&](std::int64_t) { ++count; });
    counts[row] = count;
  }
}

template <class T, class O>
__global__ void compact_kernel(sell_view<T> a, const O* rowptr, index_t* colind, T* values) {
  for (std::int64_t lane = grid_thread(); lane < std::int64_t{a.slices} * sell_slice_rows; lane += grid_stride()) {
    const index_t row = lane_row(a.perm, lane, a.rows);
    if (row < 0) continue;
    O at = rowptr[row];
    for_each_slot(a, lane, [&](std::int64_t slot) {
      colind[at] = a.colind[slot];
      values[at++] = a.values[slot];
    });
  }
}

}  // namespace

template <scalar T, offset O>
sell<T> csr_to_sell(const context& ctx, csr_view<T, O> a, index_t sigma) {
  sell<T> out;
  out.rows = a.rows;
  out.cols = a.cols;
  out.nnz = a.nnz;
  out.slices = static_cast<index_t>(ceil_div(a.rows, sell_slice_rows));
  out.perm = sell_order(ctx, a.rows, a.rowptr, sigma);
  out.sliceptr = zero_counts(ctx, out.slices);
  const std::int64_t lanes = std::int64_t{out.slices} * sell_slice_rows;
  launch_items(ctx, "sell.slice_slots", slice_slots<O>, lanes, a.rows, a.rowptr, out.perm.data(), lanes,
               out.sliceptr.data());
  exclusive_scan(ctx, out.sliceptr);
  const std::int64_t slots = read_back(ctx, out.sliceptr.data() + out.slices);
  out.colind = buffer<index_t>(ctx, static_cast<std::size_t>(slots));
  out.values = buffer<T>(ctx, static_cast<std::size_t>(slots));
  launch_entries(ctx, "sell.fill_slots", fill_slots<T, O>, slots, a,
                 sell_layout{out.slices, out.sliceptr.data(), out.perm.data()}, out.colind.data(), out.values.data());
  return out;
}

template <scalar T, offset O>
void update_sell(const context& ctx, csr_view<T, O> from, sell<T>& to) {
  const sell_layout layout{to.slices, to.sliceptr.data(), to.perm.data()};
  const auto slots = static_cast<std::int64_t>(to.values.size());
  launch_entries(ctx, "sell.fill_slots", fill_slots<T, O>, slots, from, layout, static_cast<index_t*>(nullptr),
                 to.values.data());
  auto too_long = device_value<int>(ctx);
  launch_items(ctx, "sell.check_fit", check_fit<O>, std::int64_t{to.slices} * sell_slice_rows, from.rows, from.rowptr,
               layout, too_long.data());
  if (read_back(ctx, too_long.data()) != 0) {
    throw error(status::invalid_structure, "update_values: the CSR has a longer row than the SELL made from it");
  }
}

template <scalar T, offset O>
csr<T, O> sell_to_csr(const context& ctx, sell_view<T> a) {
  const std::int64_t lanes = std::int64_t{a.slices} * sell_slice_rows;
  buffer<std::int64_t> counts = zero_counts(ctx, a.rows);
  launch_items(ctx, "sell.count", count_kernel<T>, lanes, a, counts.data());
  auto [rowptr, nnz] = offsets_of<O>(ctx, std::move(counts));
  buffer<index_t> colind(ctx, static_cast<std::size_t>(nnz));
  buffer<T> values(ctx, static_cast<std::size_t>(nnz));
  launch_items(ctx, "sell.compact", compact_kernel<T, O>, lanes, a, rowptr.data(), colind.data(), values.data());
  return {a.rows, a.cols, std::move(rowptr), std::move(colind), std::move(values)};
}

#define TULLE_INSTANTIATE(T, O)                                                \
  template sell<T> csr_to_sell<T, O>(const context&, csr_view<T, O>, index_t); \
  template csr<T, O> sell_to_csr<T, O>(const context&, sell_view<T>);          \
  template void update_sell<T, O>(const context&, csr_view<T, O>, sell<T>&);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle::cuda
