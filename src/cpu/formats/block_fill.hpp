// How full the b x b blocks of a matrix are: by merging the b sorted rows of a block row. Unsorted rows are sorted into
// a copy first.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <tulle/core/buffer.hpp>

#include "core/parallel.hpp"

namespace tulle::cpu {

inline constexpr index_t exact_rows = 65536;
inline constexpr std::int64_t most_block_rows = 4096;

/// The sampled block rows: sample i starts at row first_row(i).
struct block_sample {
  index_t rows;
  index_t block;
  std::int64_t block_rows;
  std::int64_t count;

  block_sample(index_t all_rows, index_t b)
      : rows(all_rows),
        block(b),
        block_rows((static_cast<std::int64_t>(all_rows) + b - 1) / b),
        count(all_rows <= exact_rows ? block_rows : std::min(block_rows, most_block_rows)) {}
  [[nodiscard]] std::int64_t first_row(std::int64_t i) const { return i * block_rows / count * block; }
  [[nodiscard]] std::int64_t end_row(std::int64_t i) const {
    return std::min<std::int64_t>(first_row(i) + block, rows);
  }
};

struct fill_count {
  std::int64_t blocks = 0;
  std::int64_t entries = 0;
};

/// Merges up to 8 sorted rows [at[i], end[i]) block column by block column.
inline fill_count count_blocks(std::array<const index_t*, 8> at, const std::array<const index_t*, 8>& end, int rows,
                               index_t b) {
  fill_count found;
  constexpr index_t none = std::numeric_limits<index_t>::max();
  for (;;) {
    index_t column = none;
    for (int i = 0; i < rows; ++i) {
      if (at[i] != end[i]) column = std::min(column, *at[i]);
    }
    if (column == none) return found;
    const std::int64_t past = (static_cast<std::int64_t>(column) / b + 1) * b;
    ++found.blocks;
    for (int i = 0; i < rows; ++i) {
      for (index_t previous = -1; at[i] != end[i] && *at[i] < past; ++at[i]) {
        found.entries += *at[i] != previous;
        previous = *at[i];
      }
    }
  }
}

/// Whether entries side by side are often in columns side by side, as they are in blocks: looked at in a few places.
inline bool has_runs(std::int64_t nnz, const index_t* colind) {
  constexpr std::int64_t places = 8, length = 32;
  constexpr double least_share = 0.3;  // full blocks of 2: half
  std::int64_t seen = 0, side_by_side = 0;
  for (std::int64_t i = 0; i < places; ++i) {
    const std::int64_t begin = nnz / places * i, end = std::min(begin + std::min(length, nnz / places), nnz);
    for (std::int64_t k = begin + 1; k < end; ++k) side_by_side += colind[k] == colind[k - 1] + 1 ? 1 : 0;
    seen += end - begin;
  }
  return static_cast<double>(side_by_side) >= least_share * static_cast<double>(seen);
}

/// As block_fill, from about so many entries of block rows at equal distances; rows are taken for sorted.
template <offset O>
double sampled_block_fill(index_t rows, const O* rowptr, const index_t* colind, index_t b, std::int64_t entries) {
  constexpr std::int64_t least_rows = 3;
  const auto nnz = static_cast<std::int64_t>(rowptr[rows]);
  const std::int64_t block_rows = (std::int64_t{rows} + b - 1) / b;
  const std::int64_t count = std::clamp(entries * block_rows / std::max<std::int64_t>(nnz, 1), std::min(least_rows, block_rows), block_rows);
  fill_count sum;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t first = i * block_rows / count * b;
    const auto of_row = static_cast<int>(std::min<std::int64_t>(b, rows - first));
    std::array<const index_t*, 8> begin{};
    std::array<const index_t*, 8> end{};
    for (int r = 0; r < of_row; ++r) begin[r] = colind + rowptr[first + r], end[r] = colind + rowptr[first + r + 1];
    const fill_count found = count_blocks(begin, end, of_row, b);
    sum = {sum.blocks + found.blocks, sum.entries + found.entries};
  }
  return sum.blocks == 0 ? 1.0 : static_cast<double>(sum.entries) / (static_cast<double>(sum.blocks) * b * b);
}

/// Where a sorted copy of each sampled block row starts.
template <offset O>
buffer<std::int64_t> copy_offsets(const context& ctx, const block_sample& sample, const O* rowptr) {
  buffer<std::int64_t> offsets(ctx, static_cast<std::size_t>(sample.count) + 1);
  for (std::int64_t i = 0; i < sample.count; ++i) {
    offsets.data()[i + 1] = rowptr[sample.end_row(i)] - rowptr[sample.first_row(i)];
  }
  scan_counts(1, offsets.data(), sample.count);
  return offsets;
}

/// Distinct entries over slots of the b x b blocks that hold one (1 when there is none); from all block rows up to
/// 65536 rows, then from block rows i * block_rows / 4096. `sorted`: every row is in order of its columns.
template <offset O>
double block_fill(const context& ctx, index_t rows, const O* rowptr, const index_t* colind, index_t b, bool sorted) {
  const block_sample sample(rows, b);
  const buffer<std::int64_t> offsets = sorted ? buffer<std::int64_t>() : copy_offsets(ctx, sample, rowptr);
  buffer<index_t> copy(ctx, sorted ? 0 : static_cast<std::size_t>(offsets.data()[sample.count]));
  const auto add_block_row = [&](std::int64_t i, fill_count& sum) {
    const std::int64_t first = sample.first_row(i);
    const auto count = static_cast<int>(sample.end_row(i) - first);
    std::array<const index_t*, 8> begin{};
    std::array<const index_t*, 8> end{};
    for (int r = 0; r < count; ++r) {
      begin[r] = colind + rowptr[first + r];
      end[r] = colind + rowptr[first + r + 1];
      if (sorted) continue;
      index_t* to = copy.data() + offsets.data()[i] + (rowptr[first + r] - rowptr[first]);
      index_t* to_end = std::copy(begin[r], end[r], to);
      std::sort(to, to_end);
      begin[r] = to;
      end[r] = to_end;
    }
    const fill_count found = count_blocks(begin, end, count, b);
    sum = {sum.blocks + found.blocks, sum.entries + found.entries};
  };
  const std::int64_t work = rows == 0 ? 0 : (rows + std::int64_t{rowptr[rows]}) * sample.count * b / rows;
  const auto [blocks, entries] = parallel_reduce(threads_for(ctx.threads(), work), sample.count, 16, fill_count{},
                                                 add_block_row, [](fill_count& all, const fill_count& mine) {
                                                   all = {all.blocks + mine.blocks, all.entries + mine.entries};
                                                 });
  return blocks == 0 ? 1.0 : static_cast<double>(entries) / (static_cast<double>(blocks) * b * b);
}

}  // namespace tulle::cpu
