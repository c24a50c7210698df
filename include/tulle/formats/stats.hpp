/// @file
/// What a matrix looks like: the numbers that `tulle info` prints and that a kernel is chosen from.
#pragma once

#include <array>
#include <cstdint>

#include <tulle/core/context.hpp>
#include <tulle/formats/views.hpp>

namespace tulle {

/// Statistics of a CSR matrix. Ratios are 1 (not NaN) where there is nothing to divide by.
struct csr_stats {
  index_t rows = 0;                ///< rows of the matrix
  index_t cols = 0;                ///< columns of the matrix
  std::int64_t nnz = 0;            ///< stored entries
  double mean = 0;                 ///< nonzeros a row
  index_t max = 0;                 ///< longest row
  double stddev = 0;               ///< of the row lengths (population)
  double skew = 1;                 ///< max / mean
  index_t empty_rows = 0;          ///< rows without an entry
  index_t bandwidth = 0;           ///< max |i - j| over the entries
  double ell_padding = 1;          ///< slots of ELL / nnz
  double sell_padding = 1;         ///< slots of SELL-32-1 (rows in place) / nnz
  double sell_sorted_padding = 1;  ///< slots of SELL-32-1024 / nnz
  /// Share of the slots of b x b blocks that hold an entry, for b = 2..8 (index b). Exact up to 65536 rows, then
  /// from 4096 block rows at equal distances.
  std::array<double, 9> block_fill{};
  /// Mean number of 32-byte sectors of x (of 8-byte values) that 32 consecutive nonzeros touch: 8 is dense, 32 is
  /// scattered. From up to 65536 warps at equal distances.
  double gather_sectors = 0;
  /// Mean range of columns (max - min + 1) that the same nonzeros reach over.
  double gather_span = 0;
  /// Slots of tiles of 1024 that hold whole rows, or parts of longer ones / nnz, about: from sums over the rows.
  double tile_padding = 1;
  /// Widest range of columns (max - min + 1) of 1024 consecutive nonzeros, from samples on a device; else 0.
  index_t tile_columns = 0;
  /// What is read of x for a nonzero, from samples of entries and rows at equal distances.
  struct x_reads {
    double sectors = 0;         ///< of 32 bytes, by 32 consecutive nonzeros
    double lines = 0;           ///< of 128 bytes, by the same
    double slice_sectors = 0;   ///< of 32 bytes, by 32 neighbouring rows at one place in the row
    double tile_sectors = 0;    ///< by 1024 consecutive nonzeros
    double window_sectors = 0;  ///< by 32768
    double slab_sectors = 0;    ///< by 8 neighbouring places of 1024 neighbouring rows
  };
  x_reads reads_f64{};       ///< of 8-byte values
  x_reads reads_f32{};       ///< of 4-byte values
  double slice_padding = 1;  ///< sell_padding of sampled slices (on a CPU the least of all) without very long rows
  /// Bytes that tell a column from the others of 32 neighbouring rows at the same place: 0, 1, 2 or 4, on average.
  double offset_bytes = 0;
  /// Widest range of columns (max - min + 1) over aligned groups of 128 rows.
  index_t column_window = 0;
  /// Share of entries with another further up on their diagonal among 32 rows, 1 where diagonals are whole: rows repeat the row
  /// before, each column one further. From some slices of rows at equal distances, on a CPU; else 0.
  double diagonal = 0;
};

/// One pass over the offsets and one over the column indices, on the backend of `ctx`.
template <scalar T, offset O>
csr_stats statistics(const context& ctx, csr_view<T, O> a);

/// What bins cost a matrix in blocks: slots of a layout for each that a block needs.
struct bin_padding {
  index_t block = 0;   ///< rows of a block
  double bin_bsr = 1;  ///< bin_bsr: slots of the layout for each that a block needs
  double compact = 1;  ///< bin_bsr.compact
};
/// For blocks of 2 to 8. Finds the blocks, on the backend of `ctx`; counts on the host.
template <scalar T, offset O>
bin_padding padding_in_bins(const context& ctx, csr_view<T, O> a, index_t block);

}  // namespace tulle
