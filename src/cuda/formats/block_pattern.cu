// Block patterns: one radix sort of (row, column, entry), the first of every block selected, rows counted and scanned,
// the longest row of every bin. What comes of it is counted on the device, and the host waits once, to allocate. Few
// pairs go by block_pattern_small.cu.
#include <thrust/iterator/counting_iterator.h>

#include <cub/device/device_select.cuh>
#include <tulle/core/status.hpp>
#include <tulle/formats/views.hpp>

#include "cuda/device/warp.cuh"
#include "cuda/formats/block_assembly.hpp"
#include "cuda/formats/block_pattern_small.cuh"
#include "cuda/runtime/cub_workspace.cuh"
#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/primitives.hpp"
#include "cuda/runtime/read_back.hpp"
#include "kernels/backends.hpp"

namespace tulle::cuda {
namespace {

/// Entries by row, column and number: in one word where they fit, else the number apart.
struct sorted_entries {
  const std::uint64_t* keys;
  const std::int64_t* numbers;  // null: in the lowest bits of the key
  int number_bits;              // of those
  int column_bits;

  __device__ std::uint64_t place(std::int64_t i) const { return keys[i] >> number_bits; }
  __device__ std::int64_t row(std::int64_t i) const { return static_cast<std::int64_t>(place(i) >> column_bits); }
  __device__ index_t column(std::int64_t i) const {
    return static_cast<index_t>(place(i) & ((std::uint64_t{1} << column_bits) - 1));
  }
  __device__ std::int64_t number(std::int64_t i) const {
    if (numbers != nullptr) return numbers[i];
    return static_cast<std::int64_t>(keys[i] & ((std::uint64_t{1} << number_bits) - 1));
  }
};

/// Whether entry i is the first of a block.
struct opens_block {
  sorted_entries entries;
  index_t rows;
  __device__ bool operator()(std::int64_t i) const {
    return entries.row(i) < rows && (i == 0 || entries.place(i) != entries.place(i - 1));
  }
};

struct entry_keys {
  buffer<std::uint64_t> keys;
  buffer<std::int64_t> numbers;  // empty where they are in the keys
  int number_bits = 0;
  int column_bits = 0;
  [[nodiscard]] sorted_entries view() const { return {keys.data(), numbers.data(), number_bits, column_bits}; }
};

entry_keys sort_entries(const context& ctx, const block_entries& entries, pattern_report* report) {
  const std::int64_t n = entries.size();
  const index_t rows = entries.pairs.block_rows;
  entry_keys out;
  out.column_bits = bits_for(entries.pairs.block_cols);
  const int place_bits = bits_for(std::int64_t{rows} + 1) + out.column_bits;
  const bool fits = place_bits + bits_for(n) <= 64;
  out.number_bits = fits ? bits_for(n) : 0;
  out.keys = buffer<std::uint64_t>(ctx, static_cast<std::size_t>(n));
  if (!fits) out.numbers = buffer<std::int64_t>(ctx, static_cast<std::size_t>(n));
  const auto pack = [=, keys = out.keys.data(), numbers = out.numbers.data(), number_bits = out.number_bits,
                     column_bits = out.column_bits] __device__(std::int64_t e) {
    std::uint64_t place = static_cast<std::uint64_t>(rows) << column_bits;  // nowhere
    if (const index_t row = row_in_range(entries, e, &report->from_end); row < rows) {
      place = static_cast<std::uint64_t>(row) << column_bits | static_cast<std::uint64_t>(entries[e].col);
    }
    keys[e] = place << number_bits | (numbers == nullptr ? static_cast<std::uint64_t>(e) : 0);
    if (numbers != nullptr) numbers[e] = e;
  };
  for_each_item(ctx, "block_pattern.pack", n, pack);
  if (fits) {
    sort_keys(ctx, out.keys, out.number_bits, out.number_bits + place_bits);
  } else {
    sort_pairs(ctx, out.keys, out.numbers, 0, place_bits);
  }
  return out;
}

/// The first entry of every block, of which there are report->blocks; the others are not set.
buffer<std::int64_t> select_heads(const context& ctx, const entry_keys& sorted, index_t rows, pattern_report* report) {
  const auto n = static_cast<std::int64_t>(sorted.keys.size());
  buffer<std::int64_t> heads(ctx, static_cast<std::size_t>(n));
  const opens_block opens{sorted.view(), rows};
  with_workspace(ctx, "cub::DeviceSelect::If", [&](void* workspace, std::size_t& bytes) {
    return cub::DeviceSelect::If(workspace, bytes, thrust::counting_iterator<std::int64_t>(0), heads.data(),
                                 &report->blocks, n, opens, native(ctx));
  });
  return heads;
}

/// Terms of all entries, in order, and the blocks of every row.
void count_rows(const context& ctx, const block_entries& entries, const entry_keys& sorted,
                const buffer<std::int64_t>& heads, pattern_report* report, block_pattern& out) {
  out.terms = buffer<std::int64_t>(ctx, heads.size());
  out.rowptr = zero_counts(ctx, out.block_rows);
  const auto n = static_cast<std::int64_t>(heads.size());
  const auto count = [=, s = sorted.view(), heads = heads.data(), terms = out.terms.data(), rows = out.block_rows,
                      counts = reinterpret_cast<unsigned long long*>(out.rowptr.data())] __device__(std::int64_t i) {
    if (i < report->blocks) atomicAdd(counts + s.row(heads[i]), 1ull);
    const bool kept = s.row(i) < rows;
    terms[i] = kept ? entries.term_of(s.number(i)) : -1;
    if (!kept) return;
    if (i + 1 == n || s.row(i + 1) >= rows) report->kept = i + 1;
  };
  for_each_item(ctx, "block_pattern.count_rows", n, count);
  exclusive_scan(ctx, out.rowptr);
}

/// Slots before every bin, and of all.
void find_bins(const context& ctx, pattern_report* report, block_pattern& out) {
  const std::int64_t rows = out.rows(), bins = ceil_div(rows, bin_rows);
  out.binptr = buffer<std::int64_t>(ctx, static_cast<std::size_t>(bins) + 1);
  const auto longest = [=, rowptr = out.rowptr.data(), binptr = out.binptr.data(),
                        b = out.block] __device__(std::int64_t r) {
    const std::int64_t R = r / b;  // one thread per lane, whole warps
    const std::int64_t width = warp_max(r < rows ? rowptr[R + 1] - rowptr[R] : std::int64_t{0});
    if (lane_id() == 0) binptr[r / bin_rows] = width * bin_rows;
    if (r == 0) binptr[bins] = 0;
  };
  for_each_item(ctx, "block_pattern.bins", bins * bin_rows, longest);
  if (bins == 0) fill_bytes(ctx, out.binptr.data(), memory_space::device, 0, out.binptr.bytes());
  exclusive_scan(ctx, out.binptr);
  for_each_item(ctx, "block_pattern.report", 1,
                [=, binptr = out.binptr.data()] __device__(std::int64_t) { report->slots = binptr[bins]; });
}

[[noreturn]] void refuse(const context& ctx, const block_pairs_view& pairs, std::int64_t p) {
  const index_t row = read_back(ctx, pairs.rowind + p), col = read_back(ctx, pairs.colind + p);
  throw error(status::invalid_structure, "find_block_pattern: pair " + std::to_string(p) + " is (" +
                                             std::to_string(row) + ", " + std::to_string(col) + "), out of range");
}

/// As find_small, for any number of pairs.
pattern_report find_sorted(const context& ctx, const block_entries& entries, block_pattern& out) {
  auto report = device_value<pattern_report>(ctx);
  const entry_keys sorted = sort_entries(ctx, entries, report.data());
  const buffer<std::int64_t> heads = select_heads(ctx, sorted, out.block_rows, report.data());
  count_rows(ctx, entries, sorted, heads, report.data(), out);
  find_bins(ctx, report.data(), out);
  const pattern_report found = read_back(ctx, report.data());
  if (found.from_end != 0) return found;
  out.colind = buffer<index_t>(ctx, static_cast<std::size_t>(found.blocks));
  out.termptr = buffer<std::int64_t>(ctx, static_cast<std::size_t>(found.blocks) + 1);
  const auto list = [=, s = sorted.view(), heads = heads.data(), colind = out.colind.data(),
                     termptr = out.termptr.data()] __device__(std::int64_t k) {
    termptr[k] = k < found.blocks ? heads[k] : found.kept;
    if (k < found.blocks) colind[k] = s.column(heads[k]);
  };
  for_each_item(ctx, "block_pattern.list", found.blocks + 1, list);
  return found;
}

block_pattern find(const context& ctx, const block_pairs_view& pairs, const block_pattern_options& options) {
  const block_entries entries(pairs, options);
  block_pattern out;
  out.block_rows = pairs.block_rows;
  out.block_cols = pairs.block_cols;
  out.block = options.block;
  out.pairs = pairs.pairs;
  const pattern_report found = is_small(entries) ? find_small(ctx, entries, out) : find_sorted(ctx, entries, out);
  if (found.from_end != 0) refuse(ctx, pairs, pairs.pairs - static_cast<std::int64_t>(found.from_end));
  out.slots = found.slots;
  return out;
}

void fill_bins(const context& ctx, const block_pattern& p, std::int64_t* rowptr, index_t* colptr) {
  const auto bins = static_cast<std::int64_t>(p.binptr.size()) - 1;
  const auto fill = [=, binptr = p.binptr.data(), blocks = p.rowptr.data(), colind = p.colind.data(), b = p.block,
                     rows = std::int64_t{p.rows()}] __device__(std::int64_t r) {
    const std::int64_t bin = r / bin_rows, lane = r % bin_rows;
    rowptr[r] = binptr[bin] + lane;
    if (bin == bins) return;
    std::int64_t k = r < rows ? blocks[r / b] : 0;
    const std::int64_t end = r < rows ? blocks[r / b + 1] : 0;
    for (std::int64_t slot = binptr[bin] + lane; slot < binptr[bin + 1]; slot += bin_rows, ++k) {
      colptr[slot] = k < end ? colind[k] : -1;
    }
  };
  for_each_item(ctx, "block_pattern.fill_bins", (bins + 1) * bin_rows, fill);
}

}  // namespace

const block_pattern_kernels& block_patterns() {
  static constexpr block_pattern_kernels table = {
      .find = on_device<&find>::call,
      .fill_bins = on_device<&fill_bins>::call,
      .assemble_bsr = on_device<&assemble_bsr>::call,
      .assemble_bins = on_device<&assemble_bins>::call,
  };
  return table;
}

}  // namespace tulle::cuda
