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

/// Sums over the rows, and over samples of entries and of rows, for what plans choose by.
struct access_sums {
  unsigned long long longest = 0;
  unsigned long long empty = 0;
  unsigned long long slots = 0;       // of SELL-32-1
  unsigned long long short_slots = 0;  // of rows of at most 1024 slots; an empty row takes one
  unsigned long long short_squares = 0;
  unsigned long long short_alone = 0;  // if all rows of a tile were as long
  unsigned long long long_slots = 0;  // of longer ones, in tiles of 1024
  unsigned long long slice_entries = 0, slice_slots = 0, offset_bytes = 0;
  unsigned long long read_entries = 0, tile_entries = 0, window_entries = 0, slab_entries = 0,
                     warp_entries = 0;
  unsigned long long tile_columns = 0;  // that the widest tile reaches over
  struct of_value {
    unsigned long long sectors = 0, lines = 0, slice_sectors = 0, tile_sectors = 0, window_sectors = 0, slab_sectors = 0;
  };
  of_value f64, f32;
};

/// Adds to *sums, on the device, in stream order: what all row lengths say, and what samples do.
template <offset O>
void add_row_lengths(const context& ctx, index_t rows, const O* rowptr, access_sums* sums);
template <offset O>
void add_accesses(const context& ctx, index_t rows, std::int64_t nnz, const O* rowptr, const index_t* colind,
                  access_sums* sums);

/// Sets max, skew, empty_rows, sell_padding, tile_padding, tile_columns, reads_f64, reads_f32, slice_padding and offset_bytes of a matrix whose rows,
/// nnz and mean are set.
void set_accesses(const access_sums& sums, csr_stats& stats);

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
