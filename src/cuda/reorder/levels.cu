// Cuthill-McKee's levels by one cooperative launch. A level has three steps, with a barrier of the grid behind each:
// every unnumbered neighbour learns its first parent (atomicMin), every parent counts its children, every parent places
// them in order. Blocks take neighbouring parents, so that a block's first place follows from the counts of the blocks
// before.
//
// One thread: an entry of the row of a parent, eight threads side by side, or a block where the row is long. Per
// nonzero and step 4 bytes of a column and 4 at a random place, which stays in the L2 up to some ten million vertices.
// A level costs three barriers and three chains of dependent loads, some 10 us in all on an NVIDIA H200.
#include <cooperative_groups.h>

#include <algorithm>

#include "cuda/device/warp.cuh"
#include "cuda/reorder/levels.hpp"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/read_back.hpp"

namespace tulle::cuda {
namespace {

namespace cg = cooperative_groups;

constexpr int block_size = 1024;
constexpr int lanes = 8;              // of a parent
constexpr index_t few = 64;           // children that the lanes of their parent sort
constexpr index_t of_a_block = 4096;  // that a block sorts by counting
constexpr index_t long_row = 2048;    // entries that a block walks together
constexpr int most_long = 32;         // rows of a block and level; further ones are walked by their lanes
/// From so many levels on, so few vertices a level are left to the CPU.
constexpr index_t narrow_after = 2048, narrow_width = 128;

struct family {
  index_t at, count;
};

struct level_scratch {
  index_t* counts;      // by parent: its children, then those before them in the block
  index_t* totals;      // of each block
  std::uint64_t* keys;  // of the children by place
  family* families;     // those of more than a few
  index_t* large;       // how many
  levels_found* found;
};

/// Exclusive sums in place; returns the total. All threads of the block call it.
__device__ index_t block_scan(index_t* counts, index_t n) {
  __shared__ index_t of_warps[block_size / 32];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  index_t carry = 0;
  for (index_t base = 0; base < n; base += block_size) {
    const index_t i = base + static_cast<index_t>(threadIdx.x);
    const index_t mine = i < n ? counts[i] : 0;
    const index_t through = warp_inclusive_sum(mine);
    if (lane_id() == 31) of_warps[warp] = through;
    __syncthreads();
    if (warp == 0) of_warps[lane_id()] = warp_inclusive_sum(of_warps[lane_id()]);
    __syncthreads();
    if (i < n) counts[i] = carry + (warp > 0 ? of_warps[warp - 1] : 0) + through - mine;
    carry += of_warps[block_size / 32 - 1];
    __syncthreads();
  }
  return carry;
}

/// The parents of a block that have long rows, and a sum.
struct long_parents {
  int count;
  index_t parent[most_long];
  index_t sum;

  /// By all lanes of a parent. Whether it is one of them now.
  template <class Tile>
  __device__ bool add(const Tile& tile, index_t p) {
    int slot = 0;
    if (tile.thread_rank() == 0) slot = atomicAdd(&count, 1);
    slot = tile.shfl(slot, 0);
    if (slot >= most_long) return false;
    if (tile.thread_rank() == 0) parent[slot] = p;
    return true;
  }
  __device__ bool has(index_t p) const {
    bool found = false;
    for (int i = 0; i < size(); ++i) found |= parent[i] == p;
    return found;
  }
  __device__ int size() const { return min(count, most_long); }
};

/// The block counts the children of a long row, or lists them at `keys` in any order.
template <class O>
__device__ index_t walk_long(long_parents& shared, index_t p, O begin, O end, const index_t* colind,
                             const level_arrays& to, std::uint64_t* keys) {
  if (threadIdx.x == 0) shared.sum = 0;
  __syncthreads();
  for (O base = begin; base < end; base += block_size) {  // the same for all lanes of a warp
    const O k = base + static_cast<O>(threadIdx.x);
    const index_t j = k < end ? colind[k] : 0;
    const bool is_child = k < end && to.parent[j] == p;
    const unsigned children = __ballot_sync(full_warp, is_child);
    if (children == 0) continue;
    index_t at = 0;
    if (lane_id() == 0) at = atomicAdd(&shared.sum, static_cast<index_t>(__popc(children)));
    at = __shfl_sync(full_warp, at, 0) + __popc(children & lanes_before());
    if (is_child && keys != nullptr) keys[at] = vertex_key(to.degree[j], j);
  }
  __syncthreads();
  const index_t sum = shared.sum;
  __syncthreads();
  return sum;
}

/// The sum of the blocks before this one, and of all.
__device__ int2 sum_blocks(const index_t* totals) {
  __shared__ int2 sums;
  if (threadIdx.x < 32) {
    index_t before = 0, all = 0;
    for (int b = lane_id(); b < static_cast<int>(gridDim.x); b += 32) {
      const index_t total = __ldcg(totals + b);
      all += total;
      if (b < static_cast<int>(blockIdx.x)) before += total;
    }
    before = warp_sum(before);
    all = warp_sum(all);
    if (threadIdx.x == 0) sums = make_int2(before, all);
  }
  __syncthreads();
  return sums;
}

/// By counting the lesser ones; keys are distinct.
__device__ void place_by_rank(const family& f, const level_arrays& to, const std::uint64_t* keys, index_t level,
                              int first, int step) {
  for (index_t i = first; i < f.count; i += step) {
    const std::uint64_t mine = keys[f.at + i];
    index_t rank = 0;
    for (index_t other = 0; other < f.count; ++other) rank += keys[f.at + other] < mine ? 1 : 0;
    to.list[f.at + rank] = vertex_of(mine);
    to.level[f.at + rank] = level;
  }
}

/// Batcher's bitonic sort, with mirrored first steps, so that the lesser key always goes to the front and no padding is
/// needed. The whole grid calls it.
__device__ void sort_by_grid(const cg::grid_group& grid, const family& f, std::uint64_t* all_keys) {
  std::uint64_t* const keys = all_keys + f.at;
  for (std::int64_t size = 2; size < std::int64_t{2} * f.count; size *= 2) {
    for (std::int64_t step = size / 2; step > 0; step /= 2) {
      const std::int64_t flip = step == size / 2 ? size - 1 : step;
      for (std::int64_t i = grid_thread(); i < f.count; i += grid_stride()) {
        const std::int64_t other = i ^ flip;
        if (other <= i || other >= f.count || keys[i] < keys[other]) continue;
        const std::uint64_t greater = keys[i];
        keys[i] = keys[other];
        keys[other] = greater;
      }
      grid.sync();
    }
  }
}

/// The whole grid calls it.
__device__ void sort_families(const cg::grid_group& grid, index_t count, const level_arrays& to, const level_scratch& s,
                              index_t level) {
  for (index_t i = static_cast<index_t>(blockIdx.x); i < count; i += static_cast<index_t>(gridDim.x)) {
    const family f = s.families[i];
    if (f.count <= of_a_block) place_by_rank(f, to, s.keys, level, static_cast<int>(threadIdx.x), block_size);
  }
  for (index_t i = 0; i < count; ++i) {
    const family f = s.families[i];
    if (f.count <= of_a_block) continue;
    sort_by_grid(grid, f, s.keys);
    for (std::int64_t k = grid_thread(); k < f.count; k += grid_stride()) {
      to.list[f.at + k] = vertex_of(s.keys[f.at + k]);
      to.level[f.at + k] = level;
    }
  }
  grid.sync();
  if (grid.thread_rank() == 0) *s.large = 0;  // the next to add is two barriers away
}

template <class O>
__global__ void __launch_bounds__(block_size)
    levels_kernel(const O* __restrict__ rowptr, const index_t* __restrict__ colind, index_t starts, level_arrays to,
                  level_scratch s) {
  const cg::grid_group grid = cg::this_grid();
  const auto tile = cg::tiled_partition<lanes>(cg::this_thread_block());
  const auto lane = static_cast<int>(tile.thread_rank());
  const index_t team = static_cast<index_t>(threadIdx.x) / lanes, teams = block_size / lanes;
  __shared__ long_parents longs;
  index_t begin = 0, end = starts, level = 1;
  for (; begin < end; ++level) {
    if (threadIdx.x == 0) longs.count = 0;
    __syncthreads();
    const index_t share = (end - begin - 1) / static_cast<index_t>(gridDim.x) + 1;
    const auto first =
        static_cast<index_t>(min(std::int64_t{begin} + std::int64_t{share} * blockIdx.x, std::int64_t{end}));
    const index_t last = min(end, first + min(share, end - first));
    for (index_t p = first + team; p < last; p += teams) {
      const index_t v = to.list[p];
      if (rowptr[v + 1] - rowptr[v] >= long_row && longs.add(tile, p)) continue;
      for (O k = rowptr[v] + lane; k < rowptr[v + 1]; k += lanes) {
        index_t* const parent = to.parent + colind[k];
        if (*parent > p) atomicMin(parent, p);
      }
    }
    __syncthreads();
    for (int i = 0; i < longs.size(); ++i) {
      const index_t p = longs.parent[i], v = to.list[p];
      for (O k = rowptr[v] + static_cast<O>(threadIdx.x); k < rowptr[v + 1]; k += block_size) {
        index_t* const parent = to.parent + colind[k];
        if (*parent > p) atomicMin(parent, p);
      }
    }
    grid.sync();
    for (index_t p = first + team; p < last; p += teams) {
      const index_t v = to.list[p];
      if (rowptr[v + 1] - rowptr[v] >= long_row && longs.has(p)) continue;
      index_t children = 0;
      for (O k = rowptr[v] + lane; k < rowptr[v + 1]; k += lanes) children += to.parent[colind[k]] == p ? 1 : 0;
      for (int d = lanes / 2; d > 0; d /= 2) children += tile.shfl_xor(children, d);
      if (lane == 0) s.counts[p] = children;
    }
    for (int i = 0; i < longs.size(); ++i) {
      const index_t p = longs.parent[i], v = to.list[p];
      const index_t children = walk_long(longs, p, rowptr[v], rowptr[v + 1], colind, to, nullptr);
      if (threadIdx.x == 0) s.counts[p] = children;
    }
    __syncthreads();
    const index_t total = block_scan(s.counts + first, last - first);
    if (threadIdx.x == 0) s.totals[blockIdx.x] = total;
    grid.sync();
    const int2 sums = sum_blocks(s.totals);
    for (index_t p = first + team; p < last; p += teams) {
      const index_t v = to.list[p];
      if (rowptr[v + 1] - rowptr[v] >= long_row && longs.has(p)) continue;
      family mine{end + sums.x + s.counts[p], 0};
      for (O k = rowptr[v]; k < rowptr[v + 1]; k += lanes) {
        const index_t j = k + lane < rowptr[v + 1] ? colind[k + lane] : v;
        const bool is_child = to.parent[j] == p;
        const unsigned children = tile.ballot(is_child);
        const int before = __popc(children & ((1u << lane) - 1));
        if (is_child) s.keys[mine.at + mine.count + before] = vertex_key(to.degree[j], j);
        mine.count += __popc(children);
      }
      tile.sync();
      if (mine.count <= few) {
        place_by_rank(mine, to, s.keys, level + 1, lane, lanes);
      } else if (lane == 0) {
        s.families[atomicAdd(s.large, 1)] = mine;
      }
    }
    for (int i = 0; i < longs.size(); ++i) {
      const index_t p = longs.parent[i], v = to.list[p];
      family mine{end + sums.x + s.counts[p], 0};
      mine.count = walk_long(longs, p, rowptr[v], rowptr[v + 1], colind, to, s.keys + mine.at);
      if (mine.count <= few) {
        place_by_rank(mine, to, s.keys, level + 1, static_cast<int>(threadIdx.x), block_size);
      } else if (threadIdx.x == 0) {
        s.families[atomicAdd(s.large, 1)] = mine;
      }
    }
    grid.sync();
    const index_t large = __ldcg(s.large);
    if (large > 0) sort_families(grid, large, to, s, level + 1);
    begin = end;
    end += sums.y;
    if (level >= narrow_after && end / narrow_width < level) break;
  }
  if (grid.thread_rank() == 0) *s.found = {end, begin < end};
}

template <offset O>
void launch_levels(const context& ctx, const matrix_ref& a, index_t starts, const level_arrays& to,
                   const level_scratch& s, int blocks) {
  cudaLaunchAttribute together{};
  together.id = cudaLaunchAttributeCooperative;
  together.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(block_size);
  config.stream = native(ctx);
  config.attrs = &together;
  config.numAttrs = 1;
  check(cudaLaunchKernelEx(&config, levels_kernel<O>, static_cast<const O*>(a.rowptr), a.colind, starts, to, s),
        "rcm levels", status::kernel_launch);
}

}  // namespace

levels_found number_levels(const context& ctx, const matrix_ref& a, index_t starts, const level_arrays& to) {
  const int blocks = ctx.info().multiprocessors;
  const auto n = static_cast<std::size_t>(a.rows);
  buffer<index_t> counts(ctx, n), totals(ctx, static_cast<std::size_t>(blocks));
  buffer<std::uint64_t> keys(ctx, n);
  buffer<family> families(ctx, n / few + 1);
  auto large = device_value<index_t>(ctx);
  auto found = device_value<levels_found>(ctx);
  const level_scratch s{counts.data(), totals.data(), keys.data(), families.data(), large.data(), found.data()};
  a.types.offset == offset_type::i32 ? launch_levels<std::int32_t>(ctx, a, starts, to, s, blocks)
                                     : launch_levels<std::int64_t>(ctx, a, starts, to, s, blocks);
  return read_back(ctx, found.data());
}

}  // namespace tulle::cuda
