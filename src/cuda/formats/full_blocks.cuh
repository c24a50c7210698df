// CSR -> BSR where every block is full and rows are sorted: each entry's place follows from its number, so that checking is
// one pass over the columns and storing one over the values. A warp takes a row.
#pragma once

#include <tulle/formats/views.hpp>

#include "cuda/device/warp.cuh"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/read_back.hpp"

namespace tulle::cuda {

/// Sets *other where a block is not full, a row not sorted or, where `block_colind` is given, a block not in its column.
template <class O>
__global__ void __launch_bounds__(block_threads)
    check_full(index_t rows, const O* rowptr, const index_t* colind, index_t b, const index_t* block_colind, O blocks,
               int* other) {
  bool wrong = false;
  for (std::int64_t row = grid_thread() / 32; row < rows; row += grid_stride() / 32) {
    const O begin = rowptr[row], top = rowptr[row / b * b];
    const O length = rowptr[row + 1] - begin;
    wrong |= length % b != 0 || length != rowptr[row / b * b + 1] - top;
    if (wrong) break;
    for (O p = lane_id(); p < length; p += 32) {
      const index_t column = colind[begin + p], first = colind[top + p / b * b];
      wrong |= first % b != 0 || column != first + static_cast<index_t>(p % b);
      wrong |= p >= b && p % b == 0 && column <= colind[begin + p - 1];
      const O block = top / (b * b) + p / b;
      if (block_colind != nullptr) wrong |= block >= blocks || first / b != block_colind[block];
    }
  }
  if (wrong) atomicOr(other, 1);
}

template <class O>
bool is_full(const context& ctx, index_t rows, index_t cols, const O* rowptr, const index_t* colind, index_t b,
             const index_t* block_colind = nullptr, O blocks = 0) {
  if (rows % b != 0 || cols % b != 0) return false;
  auto other = device_value<int>(ctx);
  launch_items(ctx, "bsr.check_full", check_full<O>, std::int64_t{rows} * 32, rows, rowptr, colind, b, block_colind,
               blocks, other.data());
  return read_back(ctx, other.data()) == 0;
}

/// Into arrays for nnz / b^2 blocks; `rowptr` and `colind` may be null: they are there.
template <class T, class O>
__global__ void __launch_bounds__(block_threads)
    store_full(csr_view<T, O> a, index_t b, O* rowptr, index_t* colind, T* values) {
  const O area = b * b;
  for (std::int64_t row = grid_thread() / 32; row < a.rows; row += grid_stride() / 32) {
    const std::int64_t block_row = row / b;
    const index_t i = static_cast<index_t>(row - block_row * b);
    const O begin = a.rowptr[row], top = a.rowptr[block_row * b];
    const O length = a.rowptr[row + 1] - begin;
    for (O p = lane_id(); p < length; p += 32) {
      const O block = p / b, j = p - block * b;
      values[top + block * area + i * b + j] = a.values[begin + p];
      if (colind != nullptr && i == 0 && j == 0) colind[top / area + block] = a.colind[begin + p] / b;
    }
    if (rowptr == nullptr || lane_id() != 0) continue;
    if (i == 0) rowptr[block_row] = top / area;
    if (row == a.rows - 1) rowptr[block_row + 1] = a.rowptr[a.rows] / area;
  }
}

}  // namespace tulle::cuda
