// Finds where the pieces of a CSR's rows begin: one thread and one binary search in the offsets for each.
#include "cuda/device/grid.cuh"
#include "cuda/runtime/launch.cuh"
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

template class row_pieces<std::int32_t>;
template class row_pieces<std::int64_t>;

}  // namespace tulle::cuda
