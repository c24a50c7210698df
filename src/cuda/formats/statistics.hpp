// The parts of csr_stats, one file each: of the row offsets, of the column indices, and of blocks. Each sets its own
// members; rows, cols and nnz are given. `sorted`: every row is sorted by column.
#pragma once

#include <tulle/formats/stats.hpp>

namespace tulle::cuda {

/// Sets mean, max, stddev, skew, empty_rows and the three paddings.
template <offset O>
void row_statistics(const context& ctx, const O* rowptr, csr_stats& stats);

/// Sets bandwidth and column_window; returns whether the rows are sorted.
template <offset O>
bool column_statistics(const context& ctx, const O* rowptr, const index_t* colind, csr_stats& stats);

/// Sums over a sample of warps of 32 nonzeros: what they read of x.
struct gather_sums {
  unsigned long long sectors = 0;  // of 32 bytes
  unsigned long long span = 0;     // columns from the first to the last
};

/// Adds to *sums in stream order; returns the number of warps.
std::int64_t add_gathers(const context& ctx, std::int64_t nnz, const index_t* colind, gather_sums* sums);

/// Sets gather_sectors and gather_span to the means.
void set_gathers(const gather_sums& sums, std::int64_t warps, csr_stats& stats);

/// Both, for stats.nnz entries. Waits for the stream.
void gather_statistics(const context& ctx, const index_t* colind, csr_stats& stats);

/// Sets block_fill[2..8]. Rows that are not sorted are sampled into a sorted copy.
template <offset O>
void block_fill(const context& ctx, const O* rowptr, const index_t* colind, bool sorted, csr_stats& stats);

/// The same from 512 block rows, assumed sorted.
template <offset O>
void rough_block_fill(const context& ctx, const O* rowptr, const index_t* colind, csr_stats& stats);

}  // namespace tulle::cuda
