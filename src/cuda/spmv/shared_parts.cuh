// A row that several blocks sum in one launch: each block leaves its part and counts itself; the last block to arrive
// adds the parts in the order of the tiles, so that the result does not depend on which block that is.
#pragma once

#include <cstdint>
#include <cuda/atomic>
#include <tulle/core/buffer.hpp>

#include "cuda/device/warp.cuh"

namespace tulle::cuda {

/// part[2 t]: tile t's part of the shared row that starts in it; part[2 t + 1]: of the one that started earlier.
/// arrived[t] counts the parts of the row that starts in tile t, and is 0 between launches.
template <class T>
struct shared_parts {
  T* part;
  unsigned* arrived;
};

/// The memory of shared_parts for so many tiles.
template <class T>
class part_workspace {
 public:
  part_workspace() = default;
  part_workspace(const context& ctx, std::int64_t tiles)
      : part_(ctx, 2 * static_cast<std::size_t>(tiles)), arrived_(ctx, static_cast<std::size_t>(tiles)) {
    fill_bytes(ctx, arrived_.data(), memory_space::device, 0, arrived_.bytes());
  }
  [[nodiscard]] shared_parts<T> view() { return {part_.data(), arrived_.data()}; }
  [[nodiscard]] std::size_t bytes() const noexcept { return part_.bytes() + arrived_.bytes(); }

 private:
  buffer<T> part_;
  buffer<unsigned> arrived_;
};

/// The tiles first..last that hold a shared row.
struct tile_span {
  std::int64_t first;
  std::int64_t last;
};

/// Called by one whole warp: `sum` is this tile's part of `row`, which the tiles `at` share.
template <class T, class Epilogue>
__device__ __forceinline__ void leave_part(shared_parts<T> parts, T sum, index_t row, tile_span at, std::int64_t tile,
                                           Epilogue& epilogue) {
  const int lane = lane_id();
  bool last = false;
  if (lane == 0) {
    parts.part[2 * tile + (tile != at.first)] = sum;
    const ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_device> arrived(parts.arrived[at.first]);
    last = arrived.fetch_add(1, ::cuda::memory_order_acq_rel) == static_cast<unsigned>(at.last - at.first);
  }
  if (!__any_sync(full_warp, last)) return;
  T total{0};
#pragma unroll 8
  for (std::int64_t t = at.first + lane; t <= at.last; t += 32) {
    total = add(total, __ldcg(parts.part + 2 * t + (t != at.first)));
  }
  total = warp_sum(total);
  if (lane == 0) {
    parts.arrived[at.first] = 0;
    epilogue.shared_row(static_cast<index_t>(at.first), row, total);
  }
}

}  // namespace tulle::cuda
