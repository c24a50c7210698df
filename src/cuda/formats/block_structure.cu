// The blocks of a BSR: the first entries of blocks are counted, listed in any order, and sorted by block row and
// column. Unsorted rows are sorted into a copy first.
#include "cuda/device/warp.cuh"
#include "cuda/formats/block_structure.hpp"
#include "cuda/formats/blocks.cuh"
#include "cuda/runtime/entries.cuh"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/primitives.hpp"
#include "cuda/runtime/read_back.hpp"

namespace tulle::cuda {
namespace {

struct block_counts {
  unsigned long long blocks;
  int unsorted;
};

/// `blocks` is correct if no row is unsorted.
template <class O>
__global__ void count_blocks(index_t rows, const O* rowptr, const index_t* colind, index_t b, block_counts* counts) {
  const block_rows_view<O> view{colind, rowptr, 0};
  unsigned long long blocks = 0;
  bool unsorted = false;
  for_each_entry(rows, rowptr, [&](index_t row, std::int64_t k, bool active) {
    if (!active) return;
    unsorted |= k > rowptr[row] && colind[k] < colind[k - 1];
    blocks += view.opens_block(row / b * b, row, k, b) ? 1 : 0;
  });
  blocks = warp_sum(blocks);
  if (lane_id() == 0 && blocks > 0) atomicAdd(&counts->blocks, blocks);
  if (unsorted) atomicOr(&counts->unsorted, 1);
}

/// Lists (block row, block column) of every block in any order.
template <class O>
__global__ void list_blocks(index_t rows, const O* rowptr, const index_t* colind, index_t b, int column_bits,
                            unsigned long long* listed, std::uint64_t* keys) {
  const block_rows_view<O> view{colind, rowptr, 0};
  for_each_entry(rows, rowptr, [&](index_t row, std::int64_t k, bool active) {
    const bool opens = active && view.opens_block(row / b * b, row, k, b);
    const unsigned lanes = __ballot_sync(full_warp, opens);
    unsigned long long at = 0;
    if (lane_id() == 0 && lanes != 0) at = atomicAdd(listed, static_cast<unsigned long long>(__popc(lanes)));
    at = __shfl_sync(full_warp, at, 0) + __popc(lanes & lanes_before());
    if (opens)
      keys[at] = static_cast<std::uint64_t>(row / b) << column_bits | static_cast<std::uint64_t>(colind[k] / b);
  });
}

template <class O>
block_counts count(const context& ctx, index_t rows, std::int64_t nnz, const O* rowptr, const index_t* colind,
                   index_t b) {
  auto counts = device_value<block_counts>(ctx);
  launch_entries(ctx, "bsr.count_blocks", count_blocks<O>, nnz, rows, rowptr, colind, b, counts.data());
  return read_back(ctx, counts.data());
}

/// The columns of every row in ascending order.
template <class O>
buffer<index_t> sorted_columns(const context& ctx, index_t rows, index_t cols, std::int64_t nnz, const O* rowptr,
                               const index_t* colind) {
  const int column_bits = bits_for(cols);
  buffer<std::uint64_t> keys(ctx, static_cast<std::size_t>(nnz));
  const auto pack = [=, keys = keys.data()] __device__(index_t row, std::int64_t k) {
    keys[k] = static_cast<std::uint64_t>(row) << column_bits | static_cast<std::uint64_t>(colind[k]);
  };
  for_each_entry(ctx, "pack_entries", nnz, rows, rowptr, pack);
  sort_keys(ctx, keys, 0, column_bits + bits_for(rows));
  return columns_of(ctx, keys, column_bits);
}

}  // namespace

buffer<index_t> columns_of(const context& ctx, const buffer<std::uint64_t>& keys, int column_bits) {
  buffer<index_t> columns(ctx, keys.size());
  const auto unpack = [column_bits, keys = keys.data(), to = columns.data()] __device__(std::int64_t i) {
    to[i] = static_cast<index_t>(keys[i] & ((std::uint64_t{1} << column_bits) - 1));
  };
  for_each_item(ctx, "unpack_columns", static_cast<std::int64_t>(keys.size()), unpack);
  return columns;
}

template <offset O>
block_structure<O> find_blocks(const context& ctx, index_t rows, index_t cols, std::int64_t nnz, const O* rowptr,
                               const index_t* colind, index_t block) {
  buffer<index_t> sorted;
  block_counts counts = count(ctx, rows, nnz, rowptr, colind, block);
  if (counts.unsorted != 0) {
    sorted = sorted_columns(ctx, rows, cols, nnz, rowptr, colind);
    colind = sorted.data();
    counts = count(ctx, rows, nnz, rowptr, colind, block);
  }
  const auto block_rows = static_cast<index_t>(ceil_div(rows, block));
  const int column_bits = bits_for(ceil_div(cols, block));
  buffer<std::uint64_t> keys(ctx, counts.blocks);
  auto listed = device_value<unsigned long long>(ctx);
  launch_entries(ctx, "bsr.list_blocks", list_blocks<O>, nnz, rows, rowptr, colind, block, column_bits, listed.data(),
                 keys.data());
  sort_keys(ctx, keys, 0, column_bits + bits_for(block_rows));

  block_structure<O> out{buffer<O>(ctx, static_cast<std::size_t>(block_rows) + 1), columns_of(ctx, keys, column_bits)};
  const auto n = static_cast<std::int64_t>(counts.blocks);
  const auto find_first = [n, column_bits, keys = keys.data(), to = out.rowptr.data()] __device__(std::int64_t r) {
    to[r] = static_cast<O>(lower_bound(keys, n, static_cast<std::uint64_t>(r) << column_bits));
  };
  for_each_item(ctx, "bsr.block_offsets", std::int64_t{block_rows} + 1, find_first);
  return out;
}

#define TULLE_INSTANTIATE_OFFSET(O)                                                                                    \
  template block_structure<O> find_blocks<O>(const context&, index_t, index_t, std::int64_t, const O*, const index_t*, \
                                             index_t);
TULLE_INSTANTIATE_OFFSET(std::int32_t)
TULLE_INSTANTIATE_OFFSET(std::int64_t)

}  // namespace tulle::cuda
