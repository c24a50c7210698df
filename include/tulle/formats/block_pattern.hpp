/// @file
/// Block matrices made from an unordered list of pairs: of the nodes of a graph that are joined, of the unknowns that a
/// measurement ties together. The pattern is found once; its values are summed as often as they change.
#pragma once

#include <cstdint>
#include <tulle/core/buffer.hpp>
#include <tulle/core/context.hpp>
#include <tulle/formats/matrices.hpp>

namespace tulle {

/// Pair p says that there is a block in row rowind[p] and column colind[p], in blocks. Any order, duplicates allowed.
struct block_pairs_view {
  index_t block_rows = 0;                   ///< rows of the matrix, in blocks
  index_t block_cols = 0;                   ///< columns of the matrix, in blocks
  std::int64_t pairs = 0;                   ///< how many there are
  const index_t* rowind = nullptr;          ///< pairs
  const index_t* colind = nullptr;          ///< pairs
  memory_space space = memory_space::host;  ///< of the two arrays
};

/// What a list of pairs stands for.
struct block_pattern_options {
  index_t block = 6;       ///< rows of a block, 1 to 8
  bool symmetric = false;  ///< a pair (i, j), i != j, stands for (j, i) too, with the transposed values
  bool diagonal = false;   ///< every (i, i) is there, whether or not a pair names it
};

/// Which blocks there are, sorted, and which pairs add to each.
struct block_pattern {
  index_t block_rows = 0;        ///< rows of the matrix, in blocks
  index_t block_cols = 0;        ///< columns of the matrix, in blocks
  index_t block = 6;             ///< rows of a block
  std::int64_t pairs = 0;        ///< that it was made of
  buffer<std::int64_t> rowptr;   ///< block_rows + 1
  buffer<index_t> colind;        ///< of every block; ascending within a row
  buffer<std::int64_t> termptr;  ///< blocks + 1: block k is the sum of terms[termptr[k]] .. terms[termptr[k + 1] - 1]
  /// 2 p: the values of pair p; 2 p + 1: the same transposed; -1: 0, and what no block has.
  buffer<std::int64_t> terms;
  buffer<std::int64_t> binptr;  ///< as bin_bsr: slots before every bin of 32 scalar rows, and of all
  std::int64_t slots = 0;       ///< of all bins

  /// Blocks of the pattern: duplicates among the pairs count once.
  [[nodiscard]] std::int64_t blocks() const noexcept { return static_cast<std::int64_t>(colind.size()); }
  /// Scalar rows.
  [[nodiscard]] index_t rows() const noexcept { return block_rows * block; }
  /// Scalar columns.
  [[nodiscard]] index_t cols() const noexcept { return block_cols * block; }
};

/// On the backend of `ctx`, in whose memory the pairs are. Terms of a block keep the order of the pairs, those of the
/// pairs themselves before transposed ones: the same on every backend and run. Throws INVALID_DIMENSIONS (negative
/// sizes; 2^31 rows or more; not square where that is needed), INVALID_ARGUMENT (block, memory), NULL_POINTER,
/// INVALID_STRUCTURE (a pair out of range, by number), OUT_OF_MEMORY, DEVICE_OUT_OF_MEMORY. On a device it waits once.
block_pattern find_block_pattern(const context& ctx, const block_pairs_view& pairs,
                                 const block_pattern_options& options = {});

/// A matrix with the pattern; its values are not set (in bins, 0) until `assemble` does. Throws OVERFLOW where the
/// blocks exceed O, and INVALID_ARGUMENT for a BSR of blocks of 1.
template <scalar T, offset O = std::int64_t>
bsr<T, O> make_bsr(const context& ctx, const block_pattern& pattern);
/// The same in bins. Values are 0 until `assemble`.
template <scalar T>
bin_bsr<T> make_bin_bsr(const context& ctx, const block_pattern& pattern);

/// Every value of a matrix that was made of the pattern: `values` holds block * block numbers for every pair, by rows,
/// in the context's memory; what falls on one block is added up in the order of its terms. Neither allocates nor waits.
template <scalar T, offset O>
void assemble(const context& ctx, const block_pattern& pattern, const T* values, bsr<T, O>& to);
/// The same for a matrix of make_bin_bsr.
template <scalar T>
void assemble(const context& ctx, const block_pattern& pattern, const T* values, bin_bsr<T>& to);

}  // namespace tulle
