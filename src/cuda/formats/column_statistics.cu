// One pass over the column indices, and a sample of warps.
#include "cuda/device/warp.cuh"
#include "cuda/formats/statistics.hpp"
#include "cuda/runtime/entries.cuh"
#include "cuda/runtime/read_back.hpp"

namespace tulle::cuda {
namespace {

constexpr index_t column_group = 128;  // rows
constexpr std::int64_t most_warps = 65536;
constexpr index_t columns_per_sector = 4;  // 32 bytes of 8-byte values

struct column_totals {
  int bandwidth;
  int unsorted;
  int window;
};

/// Lowest (initially the largest unsigned) and highest (initially -1) column of each group of rows.
struct column_ranges {
  unsigned* low;
  int* high;

  __device__ void extend(index_t group, index_t from, index_t to) const {
    if (static_cast<unsigned>(from) < __ldcg(low + group)) atomicMin(low + group, static_cast<unsigned>(from));
    if (to > __ldcg(high + group)) atomicMax(high + group, to);
  }
};

template <class O>
__global__ void scan_columns(index_t rows, const O* rowptr, const index_t* colind, column_ranges ranges,
                             column_totals* totals) {
  int bandwidth = 0;
  bool unsorted = false;
  for_each_entry(rows, rowptr,
                 [&](index_t row, std::int64_t k, bool) {  // inactive threads repeat an entry, which changes nothing
                   const index_t column = colind[k];
                   bandwidth = max(bandwidth, abs(row - column));
                   unsorted |= k > rowptr[row] && column < colind[k - 1];
                   const index_t group = row / column_group;
                   if (__all_sync(full_warp, group == __shfl_sync(full_warp, group, 0))) {
                     const index_t from = warp_min(column);
                     const index_t to = warp_max(column);
                     if (lane_id() == 0) ranges.extend(group, from, to);
                   } else {
                     ranges.extend(group, column, column);
                   }
                 });
  bandwidth = warp_max(bandwidth);
  if (lane_id() == 0) atomicMax(&totals->bandwidth, bandwidth);
  if (unsorted) atomicOr(&totals->unsorted, 1);
}

__global__ void widest_range(column_ranges ranges, std::int64_t groups, column_totals* totals) {
  int widest = 0;
  for (std::int64_t g = grid_thread(); g < groups; g += grid_stride()) {
    if (ranges.high[g] >= 0) widest = max(widest, ranges.high[g] - static_cast<int>(ranges.low[g]) + 1);
  }
  widest = warp_max(widest);
  if (lane_id() == 0) atomicMax(&totals->window, widest);
}

/// Warp i of n sampled is warp i * warps / n; the last warp of the matrix may hold fewer than 32 nonzeros.
__global__ void sample_gathers(std::int64_t nnz, const index_t* colind, std::int64_t warps, std::int64_t sampled,
                               gather_sums* sums) {
  gather_sums mine;
  for (std::int64_t i = grid_thread() / 32; i < sampled; i += grid_stride() / 32) {
    const std::int64_t chosen = sampled == warps ? i : warps / sampled * i + warps % sampled * i / sampled;
    const std::int64_t k = chosen * 32 + lane_id();
    const index_t column = colind[min(k, nnz - 1)];
    const index_t sector = k < nnz ? column / columns_per_sector : -1;
    const unsigned same = __match_any_sync(full_warp, sector);
    const bool first = sector >= 0 && (same & lanes_before()) == 0;
    mine.sectors += __popc(__ballot_sync(full_warp, first));
    mine.span += std::int64_t{warp_max(column)} - warp_min(column) + 1;
  }
  if (lane_id() == 0 && mine.span > 0) {
    atomicAdd(&sums->sectors, mine.sectors);
    atomicAdd(&sums->span, mine.span);
  }
}

}  // namespace

template <offset O>
bool column_statistics(const context& ctx, const O* rowptr, const index_t* colind, csr_stats& stats) {
  const std::int64_t groups = ceil_div(stats.rows, column_group);
  buffer<unsigned> low(ctx, static_cast<std::size_t>(groups));
  buffer<int> high(ctx, static_cast<std::size_t>(groups));
  fill_bytes(ctx, low.data(), memory_space::device, 0xff, low.bytes());
  fill_bytes(ctx, high.data(), memory_space::device, 0xff, high.bytes());
  const column_ranges ranges{low.data(), high.data()};
  auto on_device = device_value<column_totals>(ctx);
  launch_entries(ctx, "scan_columns", scan_columns<O>, stats.nnz, stats.rows, rowptr, colind, ranges, on_device.data());
  launch_items(ctx, "widest_range", widest_range, groups, ranges, groups, on_device.data());
  const column_totals totals = read_back(ctx, on_device.data());
  stats.bandwidth = totals.bandwidth;
  stats.column_window = totals.window;
  return totals.unsorted == 0;
}

std::int64_t add_gathers(const context& ctx, std::int64_t nnz, const index_t* colind, gather_sums* sums) {
  const std::int64_t warps = ceil_div(nnz, 32);
  const std::int64_t sampled = std::min(warps, most_warps);
  launch_items(ctx, "sample_gathers", sample_gathers, sampled * 32, nnz, colind, warps, sampled, sums);
  return sampled;
}

void set_gathers(const gather_sums& sums, std::int64_t warps, csr_stats& stats) {
  stats.gather_sectors = static_cast<double>(sums.sectors) / static_cast<double>(warps);
  stats.gather_span = static_cast<double>(sums.span) / static_cast<double>(warps);
}

void gather_statistics(const context& ctx, const index_t* colind, csr_stats& stats) {
  if (stats.nnz == 0) return;
  auto sums = device_value<gather_sums>(ctx);
  const std::int64_t warps = add_gathers(ctx, stats.nnz, colind, sums.data());
  set_gathers(read_back(ctx, sums.data()), warps, stats);
}

template bool column_statistics(const context&, const std::int32_t*, const index_t*, csr_stats&);
template bool column_statistics(const context&, const std::int64_t*, const index_t*, csr_stats&);

}  // namespace tulle::cuda
