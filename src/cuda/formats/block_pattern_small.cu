// Block patterns of few pairs, in as few launches as it takes: entries are counted by row, scattered to their rows in
// any order, and sorted there by column and number, one warp per row; one block scans what the rows hold.
#include <cub/block/block_scan.cuh>
#include <tulle/formats/views.hpp>

#include "cuda/device/warp.cuh"
#include "cuda/formats/block_pattern_small.cuh"
#include "cuda/runtime/host_report.cuh"
#include "cuda/runtime/launch.cuh"

namespace tulle::cuda {
namespace {

constexpr int scan_threads = 1024;
constexpr int row_threads = 128;

/// Calls put(i, sum of get(0) .. get(i - 1)) for i < n, by one block of scan_threads; returns the sum of all.
template <class Get, class Put>
__device__ std::int64_t scan_in_block(std::int64_t n, Get get, Put put) {
  using scanner = cub::BlockScan<std::int64_t, scan_threads>;
  __shared__ typename scanner::TempStorage shared;
  std::int64_t before = 0;
  for (std::int64_t begin = 0; begin < n; begin += scan_threads) {
    const std::int64_t i = begin + threadIdx.x;
    std::int64_t sum = 0, all = 0;
    scanner(shared).ExclusiveSum(i < n ? get(i) : std::int64_t{0}, sum, all);
    if (i < n) put(i, before + sum);
    before += all;
    __syncthreads();
  }
  return before;
}

/// Counts become where each row begins; next: the same, to be counted on.
__global__ void __launch_bounds__(scan_threads)
    place_entries(index_t rows, const int* counts, int* first, int* next, pattern_report* report) {
  const std::int64_t all = scan_in_block(
      rows, [=](std::int64_t r) { return std::int64_t{counts[r]}; },
      [=](std::int64_t r, std::int64_t sum) { first[r] = next[r] = static_cast<int>(sum); });
  if (threadIdx.x != 0) return;
  first[rows] = static_cast<int>(all);
  report->kept = all;
}

/// Rows and bins of blocks; and what the host has to know.
__global__ void __launch_bounds__(scan_threads)
    place_blocks(index_t rows, index_t b, const int* distinct, std::int64_t* rowptr, std::int64_t bins,
                 std::int64_t* binptr, pattern_report* report, word_copy to_host) {
  const std::int64_t blocks = scan_in_block(
      rows, [=](std::int64_t r) { return std::int64_t{distinct[r]}; },
      [=](std::int64_t r, std::int64_t sum) { rowptr[r] = sum; });
  const auto slots_of = [=](std::int64_t bin) {
    int longest = 0;
    for (std::int64_t R = bin * bin_rows / b; R * b < (bin + 1) * bin_rows && R < rows; ++R) {
      longest = max(longest, distinct[R]);
    }
    return std::int64_t{longest} * bin_rows;
  };
  const std::int64_t slots =
      scan_in_block(bins, slots_of, [=](std::int64_t bin, std::int64_t sum) { binptr[bin] = sum; });
  if (threadIdx.x == 0) {
    rowptr[rows] = blocks;
    binptr[bins] = slots;
    report->blocks = blocks;
    report->slots = slots;
  }
  __syncthreads();
  to_host.run();
}

/// A warp's bitonic sort of n keys that differ, in memory: every comparison ascends, so that n need be no power of 2.
__device__ void sort_in_memory(std::uint64_t* keys, int n) {
  const auto exchange = [=](int i, int other) {
    if (other <= i || other >= n) return;
    const std::uint64_t a = keys[i], b = keys[other];
    if (a <= b) return;
    keys[i] = b;
    keys[other] = a;
  };
  for (int size = 2; size / 2 < n; size *= 2) {
    for (int i = lane_id(); i < n; i += 32) exchange(i, i ^ (size - 1));
    __syncwarp();
    for (int distance = size / 4; distance > 0; distance /= 2) {
      for (int i = lane_id(); i < n; i += 32) exchange(i, i ^ distance);
      __syncwarp();
    }
  }
}

/// The same of up to 32, whose places are counted.
__device__ void sort_in_registers(std::uint64_t* keys, int n) {
  const std::uint64_t mine = lane_id() < n ? keys[lane_id()] : 0;
  int rank = 0;
  for (int i = 0; i < n; ++i) rank += __shfl_sync(full_warp, mine, i) < mine ? 1 : 0;
  if (lane_id() < n) keys[rank] = mine;
  __syncwarp();
}

__device__ index_t column_of(std::uint64_t key) { return static_cast<index_t>(key >> 32); }

/// Calls f(i, opens, before) for the n sorted entries of a row, whole warps: whether entry i is the first of a block,
/// and how many blocks of the row begin before it. Returns how many there are.
template <class F>
__device__ int for_each_opening(const std::uint64_t* keys, int n, F f) {
  int before = 0;
  for (int begin = 0; begin < n; begin += 32) {
    const int i = begin + lane_id();
    const bool opens = i < n && (i == 0 || column_of(keys[i]) != column_of(keys[i - 1]));
    const unsigned lanes = __ballot_sync(full_warp, opens);
    f(i, opens, before + __popc(lanes & lanes_before()));
    before += __popc(lanes);
  }
  return before;
}

/// One warp per row: sorts its entries, lists their terms and counts its blocks.
__global__ void __launch_bounds__(row_threads)
    sort_rows(block_entries entries, const int* first, std::uint64_t* keys, std::int64_t* terms, int* distinct) {
  const std::int64_t row = grid_thread() / 32;
  if (row >= entries.pairs.block_rows) return;
  const int begin = first[row], n = first[row + 1] - begin;
  if (n <= 32) {
    sort_in_registers(keys + begin, n);
  } else {
    sort_in_memory(keys + begin, n);
  }
  const int count = for_each_opening(keys + begin, n, [&](int i, bool, int) {
    if (i < n) terms[begin + i] = entries.term_of(static_cast<std::int64_t>(keys[begin + i] & 0xffffffffu));
  });
  if (lane_id() == 0) distinct[row] = count;
}

/// Blocks of rows; and terms of entries in no block are -1.
__global__ void __launch_bounds__(row_threads)
    list_blocks(index_t rows, const int* first, const std::uint64_t* keys, const std::int64_t* rowptr, index_t* colind,
                std::int64_t* termptr, std::int64_t* terms, std::int64_t entries) {
  for (std::int64_t i = first[rows] + grid_thread(); i < entries; i += grid_stride()) terms[i] = -1;
  const std::int64_t row = grid_thread() / 32;
  if (row == 0 && lane_id() == 0) termptr[rowptr[rows]] = first[rows];
  if (row >= rows) return;
  const int begin = first[row], n = first[row + 1] - begin;
  for_each_opening(keys + begin, n, [&](int i, bool opens, int before) {
    if (!opens) return;
    const std::int64_t k = rowptr[row] + before;
    colind[k] = column_of(keys[begin + i]);
    termptr[k] = begin + i;
  });
}

/// All that rows count in one piece of memory, which one call sets to 0.
struct small_workspace {
  buffer<std::byte> memory;
  pattern_report* report;
  int* counts;  // entries of every row; then its blocks
  int* first;   // rows + 1
  int* next;

  small_workspace(const context& ctx, index_t rows)
      : memory(ctx, sizeof(pattern_report) + (3 * static_cast<std::size_t>(rows) + 1) * sizeof(int)),
        report(reinterpret_cast<pattern_report*>(memory.data())),
        counts(reinterpret_cast<int*>(report + 1)),
        first(counts + rows),
        next(first + rows + 1) {
    fill_bytes(ctx, memory.data(), memory_space::device, 0,
               sizeof(pattern_report) + static_cast<std::size_t>(rows) * sizeof(int));
  }
};

}  // namespace

bool is_small(const block_entries& entries) { return entries.size() <= 1 << 17 && entries.pairs.block_rows <= 1 << 14; }

pattern_report find_small(const context& ctx, const block_entries& entries, block_pattern& out) {
  const std::int64_t n = entries.size();
  const index_t rows = out.block_rows;
  small_workspace work(ctx, rows);
  buffer<std::uint64_t> keys(ctx, static_cast<std::size_t>(n));
  const auto count = [entries, report = work.report, counts = work.counts] __device__(std::int64_t e) {
    const index_t row = row_in_range(entries, e, &report->from_end);
    if (row < entries.pairs.block_rows) atomicAdd(counts + row, 1);
  };
  for_each_item(ctx, "block_pattern.count", n, count);
  launch("block_pattern.place_entries", place_entries, {1, scan_threads}, native(ctx), rows, work.counts, work.first,
         work.next, work.report);
  const auto scatter = [entries, next = work.next, keys = keys.data()] __device__(std::int64_t e) {
    const index_t row = row_in_range(entries, e, nullptr);
    if (row == entries.pairs.block_rows) return;
    keys[atomicAdd(next + row, 1)] = static_cast<std::uint64_t>(entries[e].col) << 32 | static_cast<std::uint64_t>(e);
  };
  for_each_item(ctx, "block_pattern.scatter", n, scatter);
  out.terms = buffer<std::int64_t>(ctx, static_cast<std::size_t>(n));
  const launch_shape warps = threads_for(std::int64_t{rows} * 32, row_threads);
  launch("block_pattern.sort_rows", sort_rows, warps, native(ctx), entries, work.first, keys.data(), out.terms.data(),
         work.counts);

  const std::int64_t bins = ceil_div(out.rows(), bin_rows);
  out.rowptr = buffer<std::int64_t>(ctx, static_cast<std::size_t>(rows) + 1);
  out.binptr = buffer<std::int64_t>(ctx, static_cast<std::size_t>(bins) + 1);
  host_report<pattern_report> report(ctx);
  launch("block_pattern.place_blocks", place_blocks, {1, scan_threads}, native(ctx), rows, out.block, work.counts,
         out.rowptr.data(), bins, out.binptr.data(), work.report, report.of(work.report));
  const pattern_report found = report.wait(work.report);
  if (found.from_end != 0) return found;

  out.colind = buffer<index_t>(ctx, static_cast<std::size_t>(found.blocks));
  out.termptr = buffer<std::int64_t>(ctx, static_cast<std::size_t>(found.blocks) + 1);
  launch("block_pattern.list_blocks", list_blocks, threads_for(std::max<std::int64_t>(rows, 1) * 32, row_threads),
         native(ctx), rows, work.first, keys.data(), out.rowptr.data(), out.colind.data(), out.termptr.data(),
         out.terms.data(), n);
  return found;
}

}  // namespace tulle::cuda
