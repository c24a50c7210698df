/// @file
/// Non-owning, trivially copyable matrices, passed to kernels by value. Every index is 0-based.
///
/// A view does not own its arrays: they must outlive it and everything planned from it. `space` says whether the
/// pointers are host or device pointers.
#pragma once

#include <cstdint>
#include <tulle/core/types.hpp>
#include <tulle/core/vector_ref.hpp>
#include <type_traits>

namespace tulle {

/// Compressed sparse rows. Row r holds entries rowptr[r] .. rowptr[r+1]-1; columns need be neither sorted nor unique.
template <scalar T, offset O>
struct csr_view {
  index_t rows = 0;                         ///< rows of the matrix
  index_t cols = 0;                         ///< columns of the matrix
  O nnz = 0;                                ///< stored entries
  const O* rowptr = nullptr;                ///< rows + 1
  const index_t* colind = nullptr;          ///< nnz
  const T* values = nullptr;                ///< nnz
  memory_space space = memory_space::host;  ///< of the three arrays
};

/// Compressed sparse columns: the CSR of the transpose under another name.
template <scalar T, offset O>
struct csc_view {
  index_t rows = 0;                         ///< rows of the matrix
  index_t cols = 0;                         ///< columns of the matrix
  O nnz = 0;                                ///< stored entries
  const O* colptr = nullptr;                ///< cols + 1
  const index_t* rowind = nullptr;          ///< nnz
  const T* values = nullptr;                ///< nnz
  memory_space space = memory_space::host;  ///< of the three arrays
};

/// The transpose as a relabelling: no data moves.
template <scalar T, offset O>
constexpr csc_view<T, O> transpose(csr_view<T, O> a) {
  return {a.cols, a.rows, a.nnz, a.rowptr, a.colind, a.values, a.space};
}
/// The same from CSC to CSR.
template <scalar T, offset O>
constexpr csr_view<T, O> transpose(csc_view<T, O> a) {
  return {a.cols, a.rows, a.nnz, a.colptr, a.rowind, a.values, a.space};
}

/// `count` dense vectors of `rows` elements each. Element i of vector j is at i * ld + j when row_major (ld >= count),
/// at i + j * ld when column_major (ld >= rows). T may be const.
template <class T>
struct multivector_view {
  index_t rows = 0;                              ///< elements of each vector
  index_t count = 0;                             ///< vectors
  std::int64_t ld = 0;                           ///< from one row or vector to the next, in elements
  vector_order order = vector_order::row_major;  ///< how they lie
  T* data = nullptr;  ///< the last element is at (rows - 1) * ld + count - 1, or rows - 1 + (count - 1) * ld
  memory_space space = memory_space::host;  ///< where they are

  /// As what is written, its type known at run time.
  constexpr operator multivector_ref() const
    requires(!std::is_const_v<T>)
  {
    return {scalar_type_of<T>, rows, count, ld, order, data, space};
  }
  /// As what is read, its type known at run time.
  constexpr operator const_multivector_ref() const {
    return {scalar_type_of<std::remove_const_t<T>>, rows, count, ld, order, data, space};
  }
};

/// Coordinates: entry k is (rowind[k], colind[k], values[k]). Any order, duplicates allowed (they add up).
template <scalar T>
struct coo_view {
  index_t rows = 0;                         ///< rows of the matrix
  index_t cols = 0;                         ///< columns of the matrix
  std::int64_t nnz = 0;                     ///< entries, duplicates counted
  const index_t* rowind = nullptr;          ///< nnz
  const index_t* colind = nullptr;          ///< nnz
  const T* values = nullptr;                ///< nnz
  memory_space space = memory_space::host;  ///< of the three arrays
};

/// ELLPACK: `width` slots a row, stored slot by slot: slot s of row r is at s * rows + r. Unused slots: colind -1.
template <scalar T>
struct ell_view {
  index_t rows = 0;                         ///< rows of the matrix
  index_t cols = 0;                         ///< columns of the matrix
  std::int64_t nnz = 0;                     ///< without padding
  index_t width = 0;                        ///< slots a row
  const index_t* colind = nullptr;          ///< rows * width
  const T* values = nullptr;                ///< rows * width
  memory_space space = memory_space::host;  ///< of the two arrays
};

/// Rows a slice of every SELL matrix: one warp.
inline constexpr index_t sell_slice_rows = 32;

/// SELL-32-sigma (Kreutzer et al., SISC 2014): rows sorted by decreasing length within windows of `sigma` rows,
/// cut into slices of 32, each slice padded to its longest row and stored column-major. Slot s of lane l of slice i
/// is at sliceptr[i] + 32 s + l. Unused slots: colind -1. perm[32 i + l] is the row of A that the lane holds, or -1.
template <scalar T>
struct sell_view {
  index_t rows = 0;                         ///< rows of the matrix
  index_t cols = 0;                         ///< columns of the matrix
  std::int64_t nnz = 0;                     ///< without padding
  index_t slices = 0;                       ///< of 32 rows
  const std::int64_t* sliceptr = nullptr;   ///< slices + 1, in slots
  const index_t* perm = nullptr;            ///< 32 * slices; null when no row moved
  const index_t* colind = nullptr;          ///< sliceptr[slices]
  const T* values = nullptr;                ///< sliceptr[slices]
  memory_space space = memory_space::host;  ///< of all the arrays
};

/// Block CSR with square blocks of `block` (2 to 8): block k of block row R has its column in colind[k] (in blocks)
/// and its values at k * block * block, row-major. `mask` (bit i * block + j of mask[k]: entry (i, j) of block k is
/// in the pattern) is null when every block is full. Places outside the pattern hold 0 and do not multiply x.
template <scalar T, offset O>
struct bsr_view {
  index_t rows = 0;                         ///< rows of the matrix, in scalars
  index_t cols = 0;                         ///< columns of the matrix, in scalars
  std::int64_t nnz = 0;                     ///< without fill
  index_t block = 2;                        ///< rows of a block, 2 to 8
  index_t block_rows = 0;                   ///< rows / block, rounded up
  O blocks = 0;                             ///< that are stored
  const O* rowptr = nullptr;                ///< block_rows + 1
  const index_t* colind = nullptr;          ///< blocks
  const T* values = nullptr;                ///< blocks * block * block
  const std::uint64_t* mask = nullptr;      ///< blocks, or null
  memory_space space = memory_space::host;  ///< of all the arrays
};

/// Scalar rows of a bin of every bin_bsr matrix: one warp.
inline constexpr index_t bin_rows = 32;
/// Values that a row has in slot s of a bin_bsr begin here, and are 32 apart; r is the row.
constexpr std::int64_t bin_place(std::int64_t slot, index_t r, index_t block) {
  return (slot - r % bin_rows) * block + r % bin_rows;
}

/// Bin-blocked CSR with square blocks of `block` (1 to 8): the scalar rows are cut into bins of 32, whatever the block, so
/// that a block row may begin in one bin and end in the next. Every row lists the blocks that it crosses: block k of row
/// r is slot s = rowptr[r] + 32 k, its column (in blocks) colptr[s], its values of row r bin_place(s, r, block) + 32 j,
/// j < block: column-major in the bin. Rows of a bin have consecutive offsets, rowptr[r + 1] = rowptr[r] + 1, and as many
/// slots as the longest of them; what a row does not use is at its end, with colptr -1. All rows of a block row list the
/// same blocks in the same order. Rows from `rows` to the end of the last bin use none. mask: bit j of mask[s] says that
/// value j of the slot is in the pattern; null when all are. Values outside the pattern do not multiply x.
template <scalar T>
struct bin_bsr_view {
  index_t rows = 0;                         ///< rows of the matrix, in scalars
  index_t cols = 0;                         ///< columns of the matrix, in scalars
  std::int64_t nnz = 0;                     ///< without padding and fill
  index_t block = 6;                        ///< rows of a block, 1 to 8
  index_t bins = 0;                         ///< of 32 scalar rows
  const std::int64_t* rowptr = nullptr;     ///< 32 * (bins + 1); rowptr[32 * bins] slots in all
  const index_t* colptr = nullptr;          ///< slots
  const T* values = nullptr;                ///< slots * block
  const std::uint8_t* mask = nullptr;       ///< slots, or null
  memory_space space = memory_space::host;  ///< of all the arrays
};

}  // namespace tulle
