// CSR <-> BSR. One thread per entry stores its value; where entries repeat, one thread per row adds them in their order.
#include <tulle/core/status.hpp>

#include "core/instantiate.hpp"
#include "cuda/formats/block_structure.hpp"
#include "cuda/runtime/entries.cuh"
#include "cuda/formats/formats.hpp"
#include "cuda/runtime/launch.cuh"
#include "cuda/formats/offsets.hpp"
#include "cuda/runtime/primitives.hpp"
#include "cuda/device/warp.cuh"
#include "cuda/runtime/read_back.hpp"

namespace tulle::cuda {
namespace {

/// Where the entries of a CSR go in a BSR.
template <class O>
struct block_places {
  index_t block;
  const O* rowptr;
  const index_t* colind;

  /// The block of (row, column), or -1 when there is none.
  __device__ std::int64_t find(index_t row, index_t column) const {
    const std::int64_t begin = rowptr[row / block];
    const std::int64_t length = rowptr[row / block + 1] - begin;
    const std::int64_t at = lower_bound(colind + begin, length, column / block);
    return at < length && colind[begin + at] == column / block ? begin + at : -1;
  }
  /// The bit of (row, column) in its block's mask, and its place among the block's values.
  __device__ int place(index_t row, index_t column) const { return row % block * block + column % block; }
};

/// Sets the masks and counts their bits.
template <class O>
__global__ void set_masks(index_t rows, const O* rowptr, const index_t* colind, block_places<O> to,
                          unsigned long long* mask, unsigned long long* places) {
  unsigned long long mine = 0;
  for_each_entry(rows, rowptr, [&](index_t row, std::int64_t k, bool active) {
    if (!active) return;
    const unsigned long long bit = 1ull << to.place(row, colind[k]);
    const std::int64_t block = to.find(row, colind[k]);  // there is one: the blocks are those of this pattern
    mine += (atomicOr(mask + block, bit) & bit) == 0 ? 1 : 0;
  });
  mine = warp_sum(mine);
  if (lane_id() == 0 && mine > 0) atomicAdd(places, mine);
}

/// For entries without repetitions.
template <class T, class O>
__global__ void scatter_values(csr_view<T, O> a, block_places<O> to, T* values, int* missing) {
  for_each_entry(a.rows, a.rowptr, [&](index_t row, std::int64_t k, bool active) {
    if (!active) return;
    const std::int64_t block = to.find(row, a.colind[k]);
    if (block < 0) {
      atomicOr(missing, 1);
    } else {
      values[block * to.block * to.block + to.place(row, a.colind[k])] = a.values[k];
    }
  });
}

/// -0, the neutral element of addition, in the places of the pattern; 0 in the others.
template <class T>
__global__ void clear_values(std::int64_t count, int places, const std::uint64_t* mask, T* values) {
  for (std::int64_t i = grid_thread(); i < count; i += grid_stride()) {
    const bool used = mask == nullptr || (mask[i / places] >> (i % places) & 1) != 0;
    values[i] = used ? static_cast<T>(-0.0) : T{0};
  }
}

template <class T, class O>
__global__ void add_values(csr_view<T, O> a, block_places<O> to, T* values, int* missing) {
  for (std::int64_t r = grid_thread(); r < a.rows; r += grid_stride()) {
    const auto row = static_cast<index_t>(r);
    for (O k = a.rowptr[row]; k < a.rowptr[row + 1]; ++k) {
      const std::int64_t block = to.find(row, a.colind[k]);
      if (block < 0) {
        atomicOr(missing, 1);
        continue;
      }
      T& value = values[block * to.block * to.block + to.place(row, a.colind[k])];
      value = add(value, a.values[k]);
    }
  }
}

/// False when an entry has no block.
template <class T, class O>
bool fill_values(const context& ctx, csr_view<T, O> a, bsr<T, O>& to) {
  const block_places<O> places{to.block, to.rowptr.data(), to.colind.data()};
  auto missing = device_value<int>(ctx);
  if (to.nnz == a.nnz) {
    fill_bytes(ctx, to.values.data(), memory_space::device, 0, to.values.bytes());
    launch_entries(ctx, "bsr.scatter_values", scatter_values<T, O>, a.nnz, a, places, to.values.data(), missing.data());
  } else {
    const auto count = static_cast<std::int64_t>(to.values.size());
    launch_items(ctx, "bsr.clear_values", clear_values<T>, count, count, to.block * to.block, to.mask.data(),
                 to.values.data());
    launch_items(ctx, "bsr.add_values", add_values<T, O>, a.rows, a, places, to.values.data(), missing.data());
  }
  return read_back(ctx, missing.data()) == 0;
}

/// f(column, position in values) for every entry of row r, by block and then by column.
template <class T, class O, class F>
__device__ void for_each_in_row(const bsr_view<T, O>& a, index_t row, F f) {
  const index_t i = row % a.block;
  for (O k = a.rowptr[row / a.block]; k < a.rowptr[row / a.block + 1]; ++k) {
    for (index_t j = 0; j < a.block; ++j) {
      const index_t place = i * a.block + j;
      const std::int64_t column = std::int64_t{a.colind[k]} * a.block + j;
      if (column >= a.cols || (a.mask != nullptr && (a.mask[k] >> place & 1) == 0)) continue;
      f(static_cast<index_t>(column), std::int64_t{k} * a.block * a.block + place);
    }
  }
}

template <class T, class O>
__global__ void count_kernel(bsr_view<T, O> a, std::int64_t* counts) {
  for (std::int64_t r = grid_thread(); r < a.rows; r += grid_stride()) {
    std::int64_t count = 0;
    for_each_in_row(a, static_cast<index_t>(r), [&](index_t, std::int64_t) { ++count; });
    counts[r] = count;
  }
}

template <class T, class O>
__global__ void expand_kernel(bsr_view<T, O> a, const O* rowptr, index_t* colind, T* values) {
  for (std::int64_t r = grid_thread(); r < a.rows; r += grid_stride()) {
    O at = rowptr[r];
    for_each_in_row(a, static_cast<index_t>(r), [&](index_t column, std::int64_t position) {
      colind[at] = column;
      values[at++] = a.values[position];
    });
  }
}

}  // namespace

template <scalar T, offset O>
bsr<T, O> csr_to_bsr(const context& ctx, csr_view<T, O> a, index_t block) {
  auto [rowptr, colind] = find_blocks(ctx, a.rows, a.cols, a.nnz, a.rowptr, a.colind, block);
  const std::size_t blocks = colind.size();
  const std::size_t slots = blocks * static_cast<std::size_t>(block * block);
  buffer<std::uint64_t> mask(ctx, blocks);
  fill_bytes(ctx, mask.data(), memory_space::device, 0, mask.bytes());
  auto places = device_value<unsigned long long>(ctx);
  launch_entries(ctx, "bsr.set_masks", set_masks<O>, a.nnz, a.rows, a.rowptr, a.colind,
                 block_places<O>{block, rowptr.data(), colind.data()},
                 reinterpret_cast<unsigned long long*>(mask.data()), places.data());

  bsr<T, O> out;
  out.rows = a.rows;
  out.cols = a.cols;
  out.nnz = static_cast<std::int64_t>(read_back(ctx, places.data()));
  out.block = block;
  out.block_rows = static_cast<index_t>(ceil_div(a.rows, block));
  out.rowptr = std::move(rowptr);
  out.colind = std::move(colind);
  out.values = buffer<T>(ctx, slots);
  if (out.nnz != static_cast<std::int64_t>(slots)) out.mask = std::move(mask);
  fill_values(ctx, a, out);
  return out;
}

template <scalar T, offset O>
void update_bsr(const context& ctx, csr_view<T, O> from, bsr<T, O>& to) {
  if (!fill_values(ctx, from, to)) {
    throw error(status::invalid_structure, "update_values: the CSR has an entry outside the BSR's blocks");
  }
}

template <scalar T, offset O>
csr<T, O> bsr_to_csr(const context& ctx, bsr_view<T, O> a) {
  buffer<std::int64_t> counts = zero_counts(ctx, a.rows);
  launch_items(ctx, "bsr.count", count_kernel<T, O>, a.rows, a, counts.data());
  auto [rowptr, nnz] = offsets_of<O>(ctx, std::move(counts));
  buffer<index_t> colind(ctx, static_cast<std::size_t>(nnz));
  buffer<T> values(ctx, static_cast<std::size_t>(nnz));
  launch_items(ctx, "bsr.expand", expand_kernel<T, O>, a.rows, a, rowptr.data(), colind.data(), values.data());
  return {a.rows, a.cols, std::move(rowptr), std::move(colind), std::move(values)};
}

#define TULLE_INSTANTIATE(T, O)                                                 \
  template bsr<T, O> csr_to_bsr<T, O>(const context&, csr_view<T, O>, index_t); \
  template csr<T, O> bsr_to_csr<T, O>(const context&, bsr_view<T, O>);          \
  template void update_bsr<T, O>(const context&, csr_view<T, O>, bsr<T, O>&);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle::cuda
