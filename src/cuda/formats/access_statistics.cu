// How a matrix is read, for the choice of a kernel: one pass over the row offsets, and samples of entries and of rows,
// in two launches. All sums are of integers, so that a choice does not depend on the order of additions.
#include <cmath>
#include <limits>

#include "cuda/device/warp.cuh"
#include "cuda/formats/statistics.hpp"
#include "cuda/runtime/launch.cuh"

namespace tulle::cuda {
namespace {

constexpr int tile = 1024;  // slots of a tile of csr5
constexpr std::int64_t window = 32768;
constexpr std::int64_t most_windows = 48, most_slices = 1024, most_warps = 4096;
constexpr int most_positions = 32;
constexpr int batch = 8;  // loads on their way at a time
constexpr int sample_threads = 1024, sample_warps = sample_threads / 32;
constexpr int map_bits = 17, map_words = (1 << map_bits) / 32;
constexpr int most = std::numeric_limits<int>::max(), least = std::numeric_limits<int>::min();

/// Columns in a sector of 32 bytes, and in a line of four, as shifts.
constexpr int sector_f64 = 2, sector_f32 = 3, line_f64 = 4, line_f32 = 5;

using count = unsigned long long;

template <class O>
__global__ void add_rows(index_t rows, const O* rowptr, access_sums* sums) {
  access_sums mine;
  const std::int64_t end = (std::int64_t{rows} + 31) / 32 * 32;
  for (std::int64_t r = grid_thread(); r < end; r += grid_stride()) {
    const std::int64_t n = r < rows ? std::int64_t{rowptr[r + 1]} - rowptr[r] : 0;
    const auto length = static_cast<count>(max(n, std::int64_t{0}));
    mine.longest = max(mine.longest, length);
    mine.slots += warp_max(length);
    if (r < rows && length == 0) ++mine.empty;
    if (length > tile) {
      mine.long_slots += (length + tile - 1) / tile * tile;
    } else if (r < rows) {
      mine.short_slots += max(length, count{1});
      mine.short_squares += length * length;
      mine.short_alone += tile / (tile / max(length, count{1}));
    }
  }
  const count longest = warp_max(mine.longest), empty = warp_sum(mine.empty), short_slots = warp_sum(mine.short_slots),
              squares = warp_sum(mine.short_squares), alone = warp_sum(mine.short_alone),
              long_slots = warp_sum(mine.long_slots);
  if (lane_id() != 0) return;
  atomicMax(&sums->longest, longest);
  if (empty > 0) atomicAdd(&sums->empty, empty);
  if (mine.slots > 0) atomicAdd(&sums->slots, 32 * mine.slots);
  if (short_slots > 0) atomicAdd(&sums->short_slots, short_slots);
  if (squares > 0) atomicAdd(&sums->short_squares, squares);
  if (alone > 0) atomicAdd(&sums->short_alone, alone);
  if (long_slots > 0) atomicAdd(&sums->long_slots, long_slots);
}

/// How many different numbers the active lanes have.
__device__ int different(int number, bool active) {
  const unsigned same = __match_any_sync(full_warp, active ? number : -1);
  return __popc(__ballot_sync(full_warp, active && (same & lanes_before()) == 0));
}

/// How many different sectors a block reads: bits at hashed places (linear counting: Whang, Vander-Zanden, Taylor, ACM
/// TODS 1990). Its size is asked by the whole block.
struct sector_map {
  unsigned* words;
  int* ones;

  __device__ void add(index_t sector) const {
    const unsigned place = static_cast<unsigned>(sector) * 2654435761u >> (32 - map_bits);
    atomicOr(words + place / 32, 1u << (place % 32));
  }
  __device__ count size() const {
    if (threadIdx.x == 0) *ones = 0;
    __syncthreads();
    int mine = 0;
    for (int i = static_cast<int>(threadIdx.x); i < map_words; i += sample_threads) mine += __popc(words[i]);
    mine = warp_sum(mine);
    if (lane_id() == 0) atomicAdd(ones, mine);
    __syncthreads();
    const int set = min(*ones, (1 << map_bits) - 1);
    __syncthreads();
    constexpr double all = 1 << map_bits;
    return static_cast<count>(llrint(-all * log1p(-set / all)));
  }
};

/// Those with 8-byte and with 4-byte values.
struct sector_maps {
  sector_map f64, f32;

  __device__ void add(index_t column) const {
    f64.add(column >> sector_f64);
    f32.add(column >> sector_f32);
  }
};

/// The lowest and the highest column of each tile of a window.
struct tile_ranges {
  static constexpr int tiles = window / tile;
  int low[tiles], high[tiles];

  __device__ void clear() {
    if (threadIdx.x < tiles) low[threadIdx.x] = most, high[threadIdx.x] = least;
  }
  /// By a whole warp.
  __device__ void add(int t, index_t column, bool active) {
    const int from = warp_min(active ? column : most), to = warp_max(active ? column : least);
    if (lane_id() != 0) return;
    atomicMin(low + t, from);
    atomicMax(high + t, to);
  }
  /// By the first warp.
  __device__ int widest() const {
    const int t = lane_id();
    return warp_max(high[t] >= low[t] ? high[t] - low[t] + 1 : 0);
  }
};
static_assert(tile_ranges::tiles == 32 && sample_threads == tile);

/// Consecutive entries from `first` on: a window of them, whose first ones are a tile.
__device__ void sample_window(std::int64_t nnz, const index_t* colind, std::int64_t first, sector_maps maps,
                              tile_ranges& ranges, access_sums* sums) {
  const auto add = [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t begin = from; begin < to; begin += batch * sample_threads) {
      index_t columns[batch];
      const std::int64_t k = begin + threadIdx.x;
#pragma unroll
      for (int i = 0; i < batch; ++i) columns[i] = colind[min(k + i * sample_threads, to - 1)];
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        const bool active = k + i * sample_threads < to;
        const auto t = static_cast<int>((begin - first) / tile) + i;
        if (begin + i * sample_threads < to) ranges.add(t, columns[i], active);
        if (active) maps.add(columns[i]);
      }
    }
    __syncthreads();
  };
  const std::int64_t tile_end = min(first + tile, nnz), end = min(first + window, nnz);
  add(first, tile_end);
  const count tile_f64 = maps.f64.size(), tile_f32 = maps.f32.size();
  add(tile_end, end);
  const count all_f64 = maps.f64.size(), all_f32 = maps.f32.size();
  if (threadIdx.x >= 32) return;
  const auto widest = static_cast<count>(ranges.widest());
  if (threadIdx.x != 0) return;
  atomicMax(&sums->tile_columns, widest);
  atomicAdd(&sums->tile_entries, static_cast<count>(tile_end - first));
  atomicAdd(&sums->window_entries, static_cast<count>(end - first));
  atomicAdd(&sums->f64.tile_sectors, tile_f64);
  atomicAdd(&sums->f32.tile_sectors, tile_f32);
  atomicAdd(&sums->f64.window_sectors, all_f64);
  atomicAdd(&sums->f32.window_sectors, all_f32);
}

/// What rows from `first` on read at some neighbouring places in the middle of a row of mean length.
template <class O>
__device__ void sample_slab(index_t rows, std::int64_t nnz, const O* rowptr, const index_t* colind, std::int64_t first,
                            sector_maps maps, access_sums* sums) {
  constexpr int places = 8;
  const std::int64_t row = first + threadIdx.x, skipped = max(nnz / rows / 2 - places / 2, std::int64_t{0});
  std::int64_t k = 0, end = 0;
  if (row < rows) k = rowptr[row] + skipped, end = min(static_cast<std::int64_t>(rowptr[row + 1]), k + places);
  if (k < 0 || end > nnz) k = end = 0;
  const count entries = warp_sum(static_cast<count>(max(end - k, std::int64_t{0})));
  for (; k < end; ++k) maps.add(colind[k]);
  __syncthreads();
  const count of_f64 = maps.f64.size(), of_f32 = maps.f32.size();
  if (lane_id() == 0 && entries > 0) atomicAdd(&sums->slab_entries, entries);
  if (threadIdx.x != 0) return;
  atomicAdd(&sums->f64.slab_sectors, of_f64);
  atomicAdd(&sums->f32.slab_sectors, of_f32);
}

/// 32 consecutive entries from `first` on.
__device__ void sample_entries(std::int64_t nnz, const index_t* colind, std::int64_t first, access_sums* sums) {
  const std::int64_t k = first + lane_id();
  const bool active = k < nnz;
  const index_t column = active ? colind[k] : 0;
  const int f64 = different(column >> sector_f64, active), f32 = different(column >> sector_f32, active);
  const int lines_f64 = different(column >> line_f64, active), lines_f32 = different(column >> line_f32, active);
  const int entries = __popc(__ballot_sync(full_warp, active));
  if (lane_id() != 0) return;
  atomicAdd(&sums->warp_entries, static_cast<count>(entries));
  atomicAdd(&sums->f64.sectors, static_cast<count>(f64));
  atomicAdd(&sums->f32.sectors, static_cast<count>(f32));
  atomicAdd(&sums->f64.lines, static_cast<count>(lines_f64));
  atomicAdd(&sums->f32.lines, static_cast<count>(lines_f32));
}

/// The smallest of 0, 1, 2 and 4 bytes that hold a number.
__device__ int bytes_for(unsigned most) { return most == 0 ? 0 : most <= 0xff ? 1 : most <= 0xffff ? 2 : 4; }

/// 32 neighbouring rows from `first` on, a lane each.
template <class O>
__device__ void sample_slice(index_t rows, std::int64_t nnz, const O* rowptr, const index_t* colind, index_t first,
                             access_sums* sums) {
  const index_t row = first + lane_id();
  std::int64_t begin = 0, end = 0;
  if (row < rows) begin = rowptr[row], end = rowptr[row + 1];
  if (begin < 0 || end > nnz || end < begin) begin = end = 0;  // offsets that are found to be wrong elsewhere
  const count entries = warp_sum(static_cast<count>(end - begin));
  const std::int64_t width = warp_max(end - begin);
  const auto looked_at = static_cast<int>(min(width, std::int64_t{most_positions}));
  count read = 0, f64 = 0, f32 = 0;
  unsigned spread = 0, spread_of_row = 0;
  for (int first_place = 0; first_place < looked_at; first_place += batch) {
    index_t columns[batch];
#pragma unroll
    for (int i = 0; i < batch; ++i) columns[i] = begin + first_place + i < end ? colind[begin + first_place + i] : 0;
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      if (first_place + i >= looked_at) break;
      const bool active = begin + first_place + i < end;
      const index_t column = columns[i];
      read += __popc(__ballot_sync(full_warp, active));
      f64 += different(column >> sector_f64, active);
      f32 += different(column >> sector_f32, active);
      const int low = warp_min(active ? column : most), high = warp_max(active ? column : least);
      const int low_of_row = warp_min(active ? column - row : most),
                high_of_row = warp_max(active ? column - row : least);
      spread = max(spread, static_cast<unsigned>(high) - static_cast<unsigned>(low));
      spread_of_row = max(spread_of_row, static_cast<unsigned>(high_of_row) - static_cast<unsigned>(low_of_row));
    }
  }
  if (lane_id() != 0 || entries == 0) return;
  atomicAdd(&sums->slice_entries, entries);
  atomicAdd(&sums->slice_slots, static_cast<count>(32 * width));
  atomicAdd(&sums->offset_bytes, entries * bytes_for(min(spread, spread_of_row)));
  atomicAdd(&sums->read_entries, read);
  atomicAdd(&sums->f64.slice_sectors, f64);
  atomicAdd(&sums->f32.slice_sectors, f32);
}

/// So many of each kind of sample: blocks for windows first, then a warp for each other one.
struct sample_counts {
  std::int64_t windows, slabs, slices, warps;

  sample_counts(index_t rows, std::int64_t nnz)
      : windows(std::min(ceil_div(nnz, window), most_windows)),
        slabs(std::min<std::int64_t>(ceil_div(rows, sample_threads), most_windows)),
        slices(std::min<std::int64_t>(ceil_div(rows, 32), most_slices)),
        warps(std::min<std::int64_t>(ceil_div(nnz, 32), most_warps)) {}
};

/// The first of piece number i of `count` at equal distances among so many pieces.
__device__ std::int64_t place_of(std::int64_t i, std::int64_t count, std::int64_t of) {
  return of / count * i + of % count * i / count;
}

template <class O>
__global__ void __launch_bounds__(sample_threads)
    sample_accesses(index_t rows, std::int64_t nnz, const O* rowptr, const index_t* colind, sample_counts samples,
                    access_sums* sums) {
  __shared__ unsigned words[2][map_words];
  __shared__ int ones;
  __shared__ tile_ranges ranges;
  const std::int64_t block = blockIdx.x;
  if (block < samples.windows + samples.slabs) {
    for (int i = static_cast<int>(threadIdx.x); i < 2 * map_words; i += sample_threads)
      words[i / map_words][i % map_words] = 0;
    ranges.clear();
    __syncthreads();
    const sector_maps maps{{words[0], &ones}, {words[1], &ones}};
    if (block < samples.windows) {
      const std::int64_t place = place_of(block, samples.windows, (nnz + window - 1) / window);
      return sample_window(nnz, colind, place * window, maps, ranges, sums);
    }
    const std::int64_t place =
        place_of(block - samples.windows, samples.slabs, (std::int64_t{rows} + sample_threads - 1) / sample_threads);
    return sample_slab(rows, nnz, rowptr, colind, place * sample_threads, maps, sums);
  }
  const std::int64_t i = (block - samples.windows - samples.slabs) * sample_warps + threadIdx.x / 32;
  if (i < samples.slices) {
    const std::int64_t slice = place_of(i, samples.slices, (std::int64_t{rows} + 31) / 32);
    sample_slice(rows, nnz, rowptr, colind, static_cast<index_t>(slice * 32), sums);
  } else if (i < samples.slices + samples.warps) {
    sample_entries(nnz, colind, place_of(i - samples.slices, samples.warps, (nnz + 31) / 32) * 32, sums);
  }
}

double ratio(count a, count b) { return b == 0 ? 0.0 : static_cast<double>(a) / static_cast<double>(b); }

csr_stats::x_reads reads_of(const access_sums& s, const access_sums::of_value& v) {
  return {ratio(v.sectors, s.warp_entries),          ratio(v.lines, s.warp_entries),
          ratio(v.slice_sectors, s.read_entries),    ratio(v.tile_sectors, s.tile_entries),
          ratio(v.window_sectors, s.window_entries), ratio(v.slab_sectors, s.slab_entries)};
}

/// A tile of whole rows stays empty at its end where the next row does not fit: half a row, the longer ones more often;
/// less where rows of one length happen to fit.
double tile_padding(const access_sums& s, std::int64_t nnz) {
  if (nnz == 0) return 1;
  const double left = ratio(s.short_squares, s.short_slots) / 2;
  const double short_slots = static_cast<double>(s.short_slots) * tile / (tile - std::min(left, tile / 2.0));
  const auto alone = static_cast<double>(s.short_alone);
  return (std::min(short_slots, alone) + static_cast<double>(s.long_slots)) / static_cast<double>(nnz);
}

}  // namespace

template <offset O>
void add_row_lengths(const context& ctx, index_t rows, const O* rowptr, access_sums* sums) {
  launch_items(ctx, "add_rows", add_rows<O>, rows, rows, rowptr, sums);
}

template <offset O>
void add_accesses(const context& ctx, index_t rows, std::int64_t nnz, const O* rowptr, const index_t* colind,
                  access_sums* sums) {
  if (nnz == 0) return;
  const sample_counts samples(rows, nnz);
  const std::int64_t blocks = samples.windows + samples.slabs + ceil_div(samples.slices + samples.warps, sample_warps);
  launch("sample_accesses", sample_accesses<O>, {blocks, sample_threads}, native(ctx), rows, nnz, rowptr, colind,
         samples, sums);
}

void set_accesses(const access_sums& sums, csr_stats& stats) {
  const auto nnz = static_cast<double>(stats.nnz);
  stats.max = static_cast<index_t>(std::min(sums.longest, count{std::numeric_limits<index_t>::max()}));
  stats.skew = stats.mean == 0 ? 1 : stats.max / stats.mean;
  stats.empty_rows = static_cast<index_t>(sums.empty);
  stats.ell_padding = stats.skew;
  stats.sell_padding = nnz == 0 ? 1 : static_cast<double>(sums.slots) / nnz;
  stats.sell_sorted_padding = stats.sell_padding;  // at most
  stats.tile_padding = tile_padding(sums, stats.nnz);
  stats.tile_columns = static_cast<index_t>(sums.tile_columns);
  stats.slice_padding = sums.slice_entries == 0 ? 1 : ratio(sums.slice_slots, sums.slice_entries);
  stats.offset_bytes = ratio(sums.offset_bytes, sums.slice_entries);
  stats.reads_f64 = reads_of(sums, sums.f64);
  stats.reads_f32 = reads_of(sums, sums.f32);
}

template void add_row_lengths(const context&, index_t, const std::int32_t*, access_sums*);
template void add_row_lengths(const context&, index_t, const std::int64_t*, access_sums*);
template void add_accesses(const context&, index_t, std::int64_t, const std::int32_t*, const index_t*, access_sums*);
template void add_accesses(const context&, index_t, std::int64_t, const std::int64_t*, const index_t*, access_sums*);

}  // namespace tulle::cuda
