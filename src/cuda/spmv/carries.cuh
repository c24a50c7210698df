// Rows cut by tile boundaries, added up in a fixed order.
//
// Kernels that split the work by nonzeros give each block a tile. The tile in which a row starts writes
// alpha * (its part) + beta * y; a tile with a later part of that row leaves the part in head[tile]. In a second launch
// one thread per tile (a whole warp if there are many parts) adds the later parts of the row that starts in its tile,
// in the order of the tiles, so that the result is the same on every run. Which rows are cut follows from the pattern
// and is found when the plan is made.
#pragma once

#include <tulle/core/buffer.hpp>

#include "cuda/device/warp.cuh"
#include "cuda/spmv/csr_operator.cuh"

namespace tulle::cuda {

/// row[t] starts in tile t and its last part is in tile last[t]; last[t] = t when no row crosses the end of tile t.
struct cut_rows {
  const index_t* row;
  const std::int32_t* last;
  std::int32_t tiles;
};

template <class T>
__global__ void add_carries_kernel(cut_rows cuts, const T* __restrict__ head, scale_and_store<T> store) {
  constexpr std::int32_t few = 8;  // parts that one thread adds alone
  const std::int64_t tile = grid_thread();
  const int lane = lane_id();
  const std::int32_t parts = tile < cuts.tiles ? cuts.last[tile] - static_cast<std::int32_t>(tile) : 0;
  T sum{0};
  if (parts <= few) {
    for (std::int32_t i = 1; i <= parts; ++i) sum = add(sum, head[tile + i]);
  }
  for (unsigned long_rows = __ballot_sync(full_warp, parts > few); long_rows != 0; long_rows &= long_rows - 1) {
    const int owner = __ffs(static_cast<int>(long_rows)) - 1;
    const std::int64_t from = __shfl_sync(full_warp, tile, owner);
    const std::int32_t count = __shfl_sync(full_warp, parts, owner);
    T part{0};
#pragma unroll 4
    for (std::int32_t i = 1 + lane; i <= count; i += 32) part = add(part, head[from + i]);
    part = warp_sum(part);
    if (lane == owner) sum = part;
  }
  if (parts > 0) store.add_to(cuts.row[tile], sum);
}

/// The buffers behind cut_rows and head.
template <class T>
class carries {
 public:
  carries(const context& ctx, std::int32_t tiles)
      : row_(ctx, static_cast<std::size_t>(tiles)),
        last_(ctx, static_cast<std::size_t>(tiles)),
        head_(ctx, static_cast<std::size_t>(tiles)) {}

  [[nodiscard]] std::int32_t tiles() const noexcept { return static_cast<std::int32_t>(head_.size()); }
  [[nodiscard]] index_t* row() noexcept { return row_.data(); }
  [[nodiscard]] std::int32_t* last() noexcept { return last_.data(); }
  [[nodiscard]] T* head() noexcept { return head_.data(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return row_.bytes() + last_.bytes() + head_.bytes(); }

  void add(scale_and_store<T> store, cudaStream_t stream) {
    if (tiles() < 2) return;
    launch("add_carries", add_carries_kernel<T>, threads_for(tiles(), 128), stream, cut_rows{row_.data(), last_.data(), tiles()}, head_.data(), store);
  }

 private:
  buffer<index_t> row_;
  buffer<std::int32_t> last_;
  buffer<T> head_;
};

}  // namespace tulle::cuda
