// Finds where the pieces of a CSR's rows begin: one thread and one binary search in the offsets for each. Sorts them by
// column where they are taken so.
#include "cuda/device/grid.cuh"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/primitives.hpp"
#include "cuda/spmv/row_pieces.cuh"

namespace tulle::cuda {
namespace {

/// The last row whose key is at most `key`; key(rows) is above it.
template <class O>
__device__ index_t row_at(const O* rowptr, index_t rows, std::int64_t key) {
  index_t low = 0, high = rows;
  while (high - low > 1) {
    const index_t middle = low + (high - low) / 2;
    if (rowptr[middle] + std::int64_t{row_work} * middle <= key) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

template <class O>
__global__ void piece_begins_kernel(const O* rowptr, index_t rows, O nnz, piece_shape shape, std::int64_t count,
                                    piece_begin<O>* begin, std::int32_t* place, cut_row* cut, cut_counts* counts) {
  const std::int64_t w = grid_thread();
  if (w > count) return;
  if (w == count) {
    begin[w] = {rows, nnz};
    return;
  }
  const std::int64_t key = w * shape.work;
  const index_t row = row_at(rowptr, rows, key);
  const std::int64_t first = rowptr[row], end = rowptr[row + 1];
  const std::int64_t row_key = first + std::int64_t{row_work} * row;
  if (key == row_key) {
    begin[w] = {row, static_cast<O>(first)};
    return;
  }
  const std::int64_t whole = std::int64_t{shape.work} * shape.per_slot;
  const std::int64_t slot = (w + shape.per_slot - 1) / shape.per_slot;
  const std::int64_t entry = first + slot * whole - row_key;
  if (end - first <= whole || entry >= end) {  // the row stays whole, or its last cut lies before
    begin[w] = {row + 1, static_cast<O>(end)};
    return;
  }
  begin[w] = {row, static_cast<O>(entry)};
  if (cut == nullptr || w % shape.per_slot != 0 || entry - whole > first) return;
  const std::int64_t last = (end - 1 - first + row_key) / whole;  // slot
  const auto parts = static_cast<std::int32_t>(last - slot + 2);
  const std::int32_t at = atomicAdd(&counts->parts, parts);
  cut[atomicAdd(&counts->rows, 1)] = {row, at, parts};
  for (std::int64_t s = slot; s <= last; ++s) place[s] = at + 1 + static_cast<std::int32_t>(s - slot);
}

constexpr int number_bits = 32;  // of a key: the piece, and above it its first column

template <class O>
__global__ void piece_keys_kernel(row_pieces_view<O> pieces, const index_t* colind, std::uint64_t* key) {
  const std::int64_t w = grid_thread();
  if (w >= pieces.count) return;
  const O first = pieces.begin[w].entry;
  const index_t column = first < pieces.begin[w + 1].entry ? colind[first] : 0;
  key[w] = static_cast<std::uint64_t>(column) << number_bits | static_cast<std::uint64_t>(w);
}

__global__ void piece_order_kernel(const std::uint64_t* key, std::int64_t count, std::int32_t* order) {
  const std::int64_t i = grid_thread();
  if (i < count) order[i] = static_cast<std::int32_t>(key[i]);
}

std::int64_t pieces_of(std::int64_t rows, std::int64_t nnz, const piece_shape& shape) {
  return ceil_div(nnz + row_work * rows, shape.work);
}

}  // namespace

template <class O>
row_pieces<O>::row_pieces(const context& ctx, const O* rowptr, index_t rows, O nnz, index_t longest, piece_shape shape)
    : shape_(shape), count_(pieces_of(rows, nnz, shape)), begin_(ctx, static_cast<std::size_t>(count_) + 1) {
  const bool may_cut = longest == 0 || longest > shape.longest_whole();
  buffer<cut_counts> counts;
  if (may_cut) {
    const auto slots = static_cast<std::size_t>(count_ / shape.per_slot) + 2;
    place_ = buffer<std::int32_t>(ctx, slots);
    cut_ = buffer<cut_row>(ctx, slots);
    counts = buffer<cut_counts>(ctx, 1);
    fill_bytes(ctx, counts.data(), memory_space::device, 0, counts.bytes());
  }
  launch("row_pieces", piece_begins_kernel<O>, threads_for(count_ + 1), native(ctx), rowptr, rows, nnz, shape, count_,
         begin_.data(), place_.data(), cut_.data(), counts.data());
  if (!may_cut) return;
  copy_bytes(ctx, &counts_, memory_space::host, counts.data(), memory_space::device, sizeof(counts_));
  if (counts_.rows == 0) place_ = {}, cut_ = {};
}

template <class O>
void row_pieces<O>::take_by_column(const context& ctx, const index_t* colind, index_t cols) {
  buffer<std::uint64_t> keys(ctx, static_cast<std::size_t>(count_));
  launch("row_pieces.keys", piece_keys_kernel<O>, threads_for(count_), native(ctx), view(), colind, keys.data());
  sort_keys(ctx, keys, number_bits, number_bits + bits_for(cols));
  order_ = buffer<std::int32_t>(ctx, static_cast<std::size_t>(count_));
  launch("row_pieces.order", piece_order_kernel, threads_for(count_), native(ctx), keys.data(), count_, order_.data());
}

template class row_pieces<std::int32_t>;
template class row_pieces<std::int64_t>;

}  // namespace tulle::cuda
