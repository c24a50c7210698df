// The sampled block rows of all block sizes are concatenated, so that one pass over their entries is evenly divided.
#include "cuda/formats/block_structure.hpp"
#include "cuda/formats/blocks.cuh"
#include "cuda/formats/statistics.hpp"
#include "cuda/runtime/entries.cuh"
#include "cuda/runtime/primitives.hpp"
#include "cuda/runtime/read_back.hpp"

namespace tulle::cuda {
namespace {

constexpr index_t least_block = 2;
constexpr index_t most_block = 8;
constexpr index_t exact_rows = 65536;
constexpr std::int64_t most_block_rows = 4096;

/// The block rows sampled for block sizes `from` to `to`: all of them up to `all` rows, above `most` at equal
/// distances.
struct block_samples {
  index_t rows;
  index_t from;
  index_t to;
  index_t all = exact_rows;
  std::int64_t most = most_block_rows;

  struct place {
    index_t b;
    std::int64_t first_row;
    std::int64_t end_row;
  };

  __host__ __device__ std::int64_t of_size(index_t b) const {
    const std::int64_t block_rows = ceil_div(rows, b);
    return rows <= all || block_rows < most ? block_rows : most;
  }
  __host__ __device__ std::int64_t count() const {
    std::int64_t n = 0;
    for (index_t b = from; b <= to; ++b) n += of_size(b);
    return n;
  }
  __device__ place at(std::int64_t sample) const {
    index_t b = from;
    for (; sample >= of_size(b); ++b) sample -= of_size(b);
    const std::int64_t first = sample * ceil_div(rows, b) / of_size(b) * b;
    return {b, first, min(first + b, std::int64_t{rows})};
  }
};

/// The row of A that holds entry k of the block row at `place`.
template <class O>
__device__ index_t sampled_row(const O* rowptr, const block_samples::place& place, std::int64_t k) {
  return row_of(rowptr, static_cast<index_t>(place.first_row), static_cast<index_t>(place.end_row),
                rowptr[place.first_row] + k);
}

/// Blocks, and distinct entries, of each block size.
struct block_totals {
  unsigned long long blocks[most_block + 1];
  unsigned long long entries[most_block + 1];
};

/// `copy`: the sampled entries sorted within their rows; null when A's rows are sorted.
template <class O>
__global__ void count_sample(block_samples samples, const O* rowptr, const index_t* colind, const index_t* copy,
                             index_t count, const std::int64_t* offsets, block_totals* totals) {
  __shared__ block_totals of_block;
  for (int i = static_cast<int>(threadIdx.x); i <= most_block; i += blockDim.x) {
    of_block.blocks[i] = 0;
    of_block.entries[i] = 0;
  }
  __syncthreads();
  index_t b = 0;  // a thread's entries come by increasing block size
  unsigned blocks = 0;
  unsigned entries = 0;
  const auto flush = [&] {
    if (blocks > 0) atomicAdd(&of_block.blocks[b], static_cast<unsigned long long>(blocks));
    if (entries > 0) atomicAdd(&of_block.entries[b], static_cast<unsigned long long>(entries));
    blocks = entries = 0;
  };
  for_each_entry(count, offsets, [&](index_t i, std::int64_t e, bool active) {
    if (!active) return;
    const auto place = samples.at(i);
    if (place.b != b) flush();
    b = place.b;
    const O shift = rowptr[place.first_row];
    const block_rows_view<O> view{copy != nullptr ? copy + offsets[i] : colind + shift, rowptr, shift};
    const std::int64_t k = e - offsets[i];
    const index_t row = sampled_row(rowptr, place, k);
    blocks += view.opens_block(place.first_row, row, k, b) ? 1 : 0;
    entries += k == view.begin(row) || view.columns[k - 1] != view.columns[k] ? 1 : 0;
  });
  flush();
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i <= most_block; i += blockDim.x) {
    if (of_block.blocks[i] > 0) atomicAdd(&totals->blocks[i], of_block.blocks[i]);
    if (of_block.entries[i] > 0) atomicAdd(&totals->entries[i], of_block.entries[i]);
  }
}

template <class O>
buffer<index_t> sorted_sample(const context& ctx, block_samples samples, const O* rowptr, const index_t* colind,
                              index_t cols, const buffer<std::int64_t>& offsets) {
  const auto count = static_cast<index_t>(offsets.size() - 1);
  const std::int64_t entries = read_back(ctx, offsets.data() + count);
  const int column_bits = bits_for(cols);
  buffer<std::uint64_t> keys(ctx, static_cast<std::size_t>(entries));
  // (sampled row, column) of every sampled entry.
  const auto pack = [=, offsets = offsets.data(), keys = keys.data()] __device__(index_t i, std::int64_t e) {
    const auto place = samples.at(i);
    const std::int64_t k = e - offsets[i];
    const std::int64_t row = std::int64_t{i} * most_block + sampled_row(rowptr, place, k) - place.first_row;
    keys[e] = static_cast<std::uint64_t>(row) << column_bits |
              static_cast<std::uint64_t>(colind[rowptr[place.first_row] + k]);
  };
  for_each_entry(ctx, "pack_sample", entries, count, offsets.data(), pack);
  sort_keys(ctx, keys, 0, column_bits + bits_for(std::int64_t{count} * most_block));
  return columns_of(ctx, keys, column_bits);
}

template <class O>
void count_samples(const context& ctx, block_samples samples, const O* rowptr, const index_t* colind, bool sorted,
                   const csr_stats& stats, block_totals* totals) {
  const std::int64_t count = samples.count();
  buffer<std::int64_t> offsets = zero_counts(ctx, count);
  for_each_item(ctx, "sample_lengths", count, [=, lengths = offsets.data()] __device__(std::int64_t i) {
    const auto place = samples.at(i);
    lengths[i] = rowptr[place.end_row] - rowptr[place.first_row];
  });
  exclusive_scan(ctx, offsets);
  buffer<index_t> copy;
  if (!sorted) copy = sorted_sample(ctx, samples, rowptr, colind, stats.cols, offsets);
  const std::int64_t most_entries = stats.nnz * (samples.to - samples.from + 1);
  launch_entries(ctx, "count_sample", count_sample<O>, most_entries, samples, rowptr, colind, copy.data(),
                 static_cast<index_t>(count), offsets.data(), totals);
}

void set_block_fill(const context& ctx, const block_totals* on_device, csr_stats& stats) {
  const block_totals totals = read_back(ctx, on_device);
  for (index_t b = least_block; b <= most_block; ++b) {
    const auto blocks = static_cast<double>(totals.blocks[b]);
    stats.block_fill[b] = totals.blocks[b] == 0 ? 1.0 : static_cast<double>(totals.entries[b]) / (blocks * b * b);
  }
}

}  // namespace

template <offset O>
void block_fill(const context& ctx, const O* rowptr, const index_t* colind, bool sorted, csr_stats& stats) {
  auto on_device = device_value<block_totals>(ctx);
  if (sorted) {
    count_samples(ctx, {stats.rows, least_block, most_block}, rowptr, colind, sorted, stats, on_device.data());
  } else {  // one block size at a time, as the copies take memory
    for (index_t b = least_block; b <= most_block; ++b) {
      count_samples(ctx, {stats.rows, b, b}, rowptr, colind, sorted, stats, on_device.data());
    }
  }
  set_block_fill(ctx, on_device.data(), stats);
}

template <offset O>
void rough_block_fill(const context& ctx, const O* rowptr, const index_t* colind, csr_stats& stats) {
  auto on_device = device_value<block_totals>(ctx);
  count_samples(ctx, {stats.rows, least_block, most_block, 0, 512}, rowptr, colind, true, stats, on_device.data());
  set_block_fill(ctx, on_device.data(), stats);
}

template void rough_block_fill(const context&, const std::int32_t*, const index_t*, csr_stats&);
template void rough_block_fill(const context&, const std::int64_t*, const index_t*, csr_stats&);
template void block_fill(const context&, const std::int32_t*, const index_t*, bool, csr_stats&);
template void block_fill(const context&, const std::int64_t*, const index_t*, bool, csr_stats&);

}  // namespace tulle::cuda
