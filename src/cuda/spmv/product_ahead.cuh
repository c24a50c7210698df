// What kernels for several right-hand sides ask for ahead. H200, cold, time over that without, means by size up to 3
// million entries: whole rows 0.87 to 0.90 with 32 columns of f32 by rows, 0.88 to 0.90 with 8; rows of X of less than
// a line as streams 0.92 to 0.95; packed 0.95 to 0.97 with 8 (docs/notes/0025-spmm-cuda.md).
#pragma once

#include <tulle/formats/views.hpp>

#include "cuda/device/read_ahead.cuh"
#include "cuda/spmv/many_vectors.cuh"

namespace tulle::cuda {

/// Of A and X together: what is asked for stays in L2 until it is read.
inline constexpr std::int64_t most_ahead = 24 << 20;
/// Of streams of lines, which have many reads on their way without.
inline constexpr std::int64_t most_ahead_of_lines = 2 << 20;

template <class T>
std::int64_t bytes_of(const strided_vectors& x, index_t cols) {
  return std::int64_t{x.count} * cols * std::int64_t{sizeof(T)};
}

/// X, where it lies together and most of it is read at once: by columns panels of 8 read one part after another.
template <class T>
read_ahead x_ahead(const strided_vectors& x, index_t cols, std::int64_t nnz) {
  constexpr index_t panel = 8;
  constexpr std::int64_t least_of_column = 2;  // entries
  const bool by_row = is_by_row(x);
  const std::int64_t of_line = by_row ? x.count : cols, apart = by_row ? x.row_stride : x.vector_stride;
  const bool together = (by_row || (x.row_stride == 1 && x.count <= panel)) && apart <= of_line + of_line / 4;
  if (!together || nnz < least_of_column * cols || bytes_of<T>(x, cols) > most_ahead) return {};
  const std::int64_t lines = by_row ? cols : x.count;
  return {x.data, static_cast<std::size_t>((lines - 1) * apart + of_line) * sizeof(T)};
}

/// A and X, where they are at most `most` together; of X nothing where the kernel in front has just written it.
template <class T, class O>
product_ahead ahead_of(const csr_view<T, O>& a, const strided_vectors& x, bool behind, std::int64_t most = most_ahead) {
  const auto nnz = static_cast<std::size_t>(a.nnz);
  const std::size_t columns = nnz * sizeof(index_t), values = nnz * sizeof(T);
  product_ahead all;
  all.behind = behind;
  if (nnz == 0 || bytes_of<T>(x, a.cols) + static_cast<std::int64_t>(columns + values) > most) return all;
  if (!behind) all.x = x_ahead<T>(x, a.cols, a.nnz);
  all.columns = {a.colind, columns};
  all.values = {a.values, values};
  return all;
}

}  // namespace tulle::cuda
