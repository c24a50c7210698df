// Tiles of equally many nonzeros, and the rows of each: found by a search on the first application and kept, since the
// pattern of a plan does not change.
//
// A row belongs to the tile in which it starts (empty rows at the very end to the last tile). The tile also finishes a
// row that reaches into the next tile by few nonzeros (its overhang). A row that reaches further is shared: every tile
// sums its part, and shared_parts.cuh adds the parts.
#pragma once

#include <algorithm>
#include <cstdint>

#include <tulle/core/types.hpp>

#include "cuda/device/warp.cuh"

namespace tulle::cuda {

/// Positions count from the tile's first nonzero.
struct alignas(16) tile_rows {
  index_t begin;  // rows that start in this tile: begin to end - 1; -1: not known yet
  index_t end;
  std::int32_t head;      // nonzeros of a shared row that starts in an earlier tile; -n: n nonzeros of a row that the
                          // tile before finishes
  std::int32_t overhang;  // of row end - 1; -1 when that row is shared
};

/// Rows that start before `position`; all lanes of a warp call it and get the answer.
template <class O>
__device__ index_t rows_before(const O* __restrict__ rowptr, index_t rows, std::int64_t position) {
  std::int64_t low = 0, high = rows;
  while (low < high) {
    const std::int64_t step = (high - low + 31) / 32;
    const std::int64_t probe = low + (lane_id() + 1) * step - 1;
    const bool before = probe < high && static_cast<std::int64_t>(rowptr[probe]) < position;
    low += __popc(__ballot_sync(full_warp, before)) * step;
    high = min(low + step - 1, high);
  }
  return static_cast<index_t>(low);
}

/// `size` nonzeros per tile, fewer in the last one. There is at least one tile.
template <int Size, int MostOverhang>
struct nonzero_tiling {
  static constexpr int size = Size;
  static constexpr int most_overhang = MostOverhang;
  /// Where a tile holds very many rows, the aligned slices of rows inside it are the work of other blocks.
  static constexpr int slice = Size;

  static constexpr std::int64_t tiles(std::int64_t nnz) { return std::max<std::int64_t>((nnz + size - 1) / size, 1); }
  static constexpr std::int64_t slices(std::int64_t rows) { return rows / slice; }  // whole ones

  static __device__ std::int64_t tile_of(std::int64_t position, std::int64_t tiles) {
    return min(position / size, tiles - 1);
  }

  /// The whole block calls it.
  template <class O>
  static __device__ tile_rows find(const O* __restrict__ rowptr, index_t rows, std::int64_t tile, std::int64_t tiles) {
    __shared__ index_t bound[2];
    __shared__ tile_rows found;
    const int warps = blockDim.x / 32;
    for (int w = threadIdx.x / 32; w < 2; w += warps) {
      const bool past_the_last = tile + w >= tiles;
      const index_t b = past_the_last ? rows : rows_before(rowptr, rows, (tile + w) * size);
      if (lane_id() == 0) bound[w] = b;
    }
    __syncthreads();
    if (threadIdx.x == 0) found = describe(rowptr, tile, tiles, bound[0], bound[1]);
    __syncthreads();
    return found;
  }

 private:
  template <class O>
  static __device__ tile_rows describe(const O* __restrict__ rowptr, std::int64_t tile, std::int64_t tiles, index_t begin,
                                       index_t end) {
    tile_rows t{begin, end, 0, 0};
    const std::int64_t first = tile * size;
    if (begin > 0) {
      const std::int64_t reach = static_cast<std::int64_t>(rowptr[begin]) - first;
      const bool next_to_its_start = static_cast<std::int64_t>(rowptr[begin - 1]) >= first - size;
      const bool taken = next_to_its_start && reach <= most_overhang;
      t.head = static_cast<int>(taken ? -reach : min(reach, std::int64_t{size}));
    }
    if (end > begin && tile + 1 < tiles) {
      const std::int64_t reach = static_cast<std::int64_t>(rowptr[end]) - first - size;
      t.overhang = reach <= most_overhang ? static_cast<int>(reach) : -1;
    }
    return t;
  }
};

}  // namespace tulle::cuda
