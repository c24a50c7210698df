// The contract between formats and backends: what each backend implements of convert.hpp, stats.hpp and validate.hpp.
//
// Arguments are checked before these are called: arrays are in the backend's memory, options are in range.
#pragma once

#include <tulle/formats/convert.hpp>
#include <tulle/formats/stats.hpp>
#include <tulle/formats/validate.hpp>

#include "kernels/bin_bsr.hpp"

namespace tulle {

/// Sectors of x that 32 nonzeros touch (csr_stats::gather_sectors), of 32 at most: above, x is gathered from all over.
inline constexpr double scattered_sectors = 24;

/// A CUDA plan samples how a matrix of at least so many nonzeros is read.
inline constexpr std::int64_t least_sampled = 50'000;

/// Whether a CSR is sound, and what the choice of a kernel needs to know of it: rows, cols, nnz, mean, max and skew; where
/// the matrix is so large that they matter gather_sectors and gather_span, on CUDA the reads of x and the paddings of tiles
/// and slices, and of rows that are alike a rough block_fill. The rest may be at its default.
struct inspection {
  validation found;
  csr_stats stats;
};

/// The pattern of A^T: entries of a row in the order of their row in A, and where each of them was.
template <offset O>
struct transposed_pattern {
  buffer<O> rowptr;
  buffer<index_t> colind;
  buffer<std::int64_t> positions;
};

template <scalar T, offset O>
struct format_kernels {
  coo<T> (*csr_to_coo)(const context&, csr_view<T, O>);
  csr<T, O> (*coo_to_csr)(const context&, coo_view<T>);
  csc<T, O> (*csr_to_csc)(const context&, csr_view<T, O>);
  /// Entry k of A counts as positions[k] (null: k), so that transposing twice gives the order that sorts the rows. Values
  /// are not read.
  transposed_pattern<O> (*transpose_pattern)(const context&, csr_view<T, O>, const std::int64_t* positions);
  ell<T> (*csr_to_ell)(const context&, csr_view<T, O>, index_t width);
  csr<T, O> (*ell_to_csr)(const context&, ell_view<T>);
  sell<T> (*csr_to_sell)(const context&, csr_view<T, O>, index_t sigma);
  csr<T, O> (*sell_to_csr)(const context&, sell_view<T>);
  bsr<T, O> (*csr_to_bsr)(const context&, csr_view<T, O>, index_t block);
  csr<T, O> (*bsr_to_csr)(const context&, bsr_view<T, O>);
  bin_bsr<T> (*bsr_to_bin_bsr)(const context&, bsr_view<T, O>);
  bsr<T, O> (*bin_bsr_to_bsr)(const context&, bin_bsr_view<T>);
  compact_bin_bsr<T> (*bsr_to_compact)(const context&, bsr_view<T, O>, index_t sigma);
  void (*update_ell)(const context&, csr_view<T, O>, ell<T>&);
  void (*update_sell)(const context&, csr_view<T, O>, sell<T>&);
  void (*update_bsr)(const context&, csr_view<T, O>, bsr<T, O>&);
  void (*update_bin_bsr)(const context&, bsr_view<T, O>, bin_bsr<T>&);
  void (*update_bsr_of_bins)(const context&, bin_bsr_view<T>, bsr<T, O>&);
  void (*update_compact)(const context&, bsr_view<T, O>, compact_bin_bsr<T>&);
  buffer<std::int32_t> (*narrow_offsets)(const context&, const O* rowptr, std::size_t count);
  buffer<std::int64_t> (*widen_offsets)(const context&, const O* rowptr, std::size_t count);
  index_t (*longest_row)(const context&, csr_view<T, O>);
  inspection (*inspect)(const context&, csr_view<T, O>);
  csr_stats (*statistics)(const context&, csr_view<T, O>);
  validation (*validate)(const context&, csr_view<T, O>, validate_options);
  validation (*validate_bin_bsr)(const context&, bin_bsr_view<T>);
};

}  // namespace tulle
