/// @file
/// Owning matrices: the arrays of the views, in buffers. Made by the readers, the generators and `convert.hpp`.
#pragma once

#include <cstdint>

#include <tulle/core/buffer.hpp>
#include <tulle/core/types.hpp>
#include <tulle/formats/views.hpp>

namespace tulle {

/// Owning CSR. 64-bit offsets by default: any matrix fits, and a plan narrows them where 32 bits are enough.
template <scalar T, offset O = std::int64_t>
struct csr {
  index_t rows = 0;        ///< rows of the matrix
  index_t cols = 0;        ///< columns of the matrix
  buffer<O> rowptr;        ///< rows + 1
  buffer<index_t> colind;  ///< nnz
  buffer<T> values;        ///< nnz

  /// Stored entries.
  [[nodiscard]] O nnz() const noexcept { return static_cast<O>(values.size()); }
  /// The arrays, not owned. Valid while they are neither moved nor freed.
  [[nodiscard]] csr_view<T, O> view() const noexcept {
    return {rows, cols, nnz(), rowptr.data(), colind.data(), values.data(), rowptr.space()};
  }
};

/// Owning CSC.
template <scalar T, offset O = std::int64_t>
struct csc {
  index_t rows = 0;        ///< rows of the matrix
  index_t cols = 0;        ///< columns of the matrix
  buffer<O> colptr;        ///< cols + 1
  buffer<index_t> rowind;  ///< nnz
  buffer<T> values;        ///< nnz

  /// Stored entries.
  [[nodiscard]] O nnz() const noexcept { return static_cast<O>(values.size()); }
  /// The arrays, not owned.
  [[nodiscard]] csc_view<T, O> view() const noexcept {
    return {rows, cols, nnz(), colptr.data(), rowind.data(), values.data(), colptr.space()};
  }
};

/// Relabels an owning matrix as its transpose: no data moves.
template <scalar T, offset O>
csc<T, O> transpose(csr<T, O>&& a) {
  return {a.cols, a.rows, std::move(a.rowptr), std::move(a.colind), std::move(a.values)};
}
/// The same from CSC to CSR.
template <scalar T, offset O>
csr<T, O> transpose(csc<T, O>&& a) {
  return {a.cols, a.rows, std::move(a.colptr), std::move(a.rowind), std::move(a.values)};
}

/// Owning COO.
template <scalar T>
struct coo {
  index_t rows = 0;        ///< rows of the matrix
  index_t cols = 0;        ///< columns of the matrix
  buffer<index_t> rowind;  ///< nnz
  buffer<index_t> colind;  ///< nnz
  buffer<T> values;        ///< nnz

  /// Stored entries.
  [[nodiscard]] std::int64_t nnz() const noexcept { return static_cast<std::int64_t>(values.size()); }
  /// The arrays, not owned.
  [[nodiscard]] coo_view<T> view() const noexcept {
    return {rows, cols, nnz(), rowind.data(), colind.data(), values.data(), values.space()};
  }
};

/// Owning ELL; ell_view says how it is laid out.
template <scalar T>
struct ell {
  index_t rows = 0;        ///< rows of the matrix
  index_t cols = 0;        ///< columns of the matrix
  std::int64_t nnz = 0;    ///< stored entries, without padding
  index_t width = 0;       ///< slots a row
  buffer<index_t> colind;  ///< rows * width
  buffer<T> values;        ///< rows * width

  /// The arrays, not owned.
  [[nodiscard]] ell_view<T> view() const noexcept {
    return {rows, cols, nnz, width, colind.data(), values.data(), values.space()};
  }
};

/// Owning SELL-32-sigma; sell_view says how it is laid out.
template <scalar T>
struct sell {
  index_t rows = 0;               ///< rows of the matrix
  index_t cols = 0;               ///< columns of the matrix
  std::int64_t nnz = 0;           ///< stored entries, without padding
  index_t slices = 0;             ///< of 32 rows
  buffer<std::int64_t> sliceptr;  ///< slices + 1, in slots
  buffer<index_t> perm;           ///< empty when no row moved
  buffer<index_t> colind;         ///< a slot each
  buffer<T> values;               ///< a slot each

  /// The arrays, not owned.
  [[nodiscard]] sell_view<T> view() const noexcept {
    return {rows,         cols,          nnz, slices, sliceptr.data(), perm.data(), colind.data(),
            values.data(), sliceptr.space()};
  }
};

/// Owning BSR; bsr_view says how it is laid out.
template <scalar T, offset O = std::int64_t>
struct bsr {
  index_t rows = 0;            ///< rows of the matrix, in scalars
  index_t cols = 0;            ///< columns of the matrix, in scalars
  std::int64_t nnz = 0;        ///< stored entries, without fill
  index_t block = 2;           ///< rows of a block
  index_t block_rows = 0;      ///< rows / block, rounded up
  buffer<O> rowptr;            ///< block_rows + 1
  buffer<index_t> colind;      ///< of every block
  buffer<T> values;            ///< block * block for every block, by rows
  buffer<std::uint64_t> mask;  ///< empty when every block is full

  /// The arrays, not owned.
  [[nodiscard]] bsr_view<T, O> view() const noexcept {
    return {rows,          cols,          nnz,         block,      block_rows, static_cast<O>(colind.size()),
            rowptr.data(), colind.data(), values.data(), mask.data(), rowptr.space()};
  }
};

/// Owning bin-blocked CSR; bin_bsr_view says how it is laid out.
template <scalar T>
struct bin_bsr {
  index_t rows = 0;             ///< rows of the matrix, in scalars
  index_t cols = 0;             ///< columns of the matrix, in scalars
  std::int64_t nnz = 0;         ///< stored entries, without padding and fill
  index_t block = 6;            ///< rows of a block
  index_t bins = 0;             ///< of 32 scalar rows
  buffer<std::int64_t> rowptr;  ///< 32 * (bins + 1)
  buffer<index_t> colptr;       ///< of every slot
  buffer<T> values;             ///< block for every slot
  buffer<std::uint8_t> mask;    ///< empty when every block is full

  /// The arrays, not owned.
  [[nodiscard]] bin_bsr_view<T> view() const noexcept {
    return {rows,          cols,          nnz,           block,       bins,
            rowptr.data(), colptr.data(), values.data(), mask.data(), rowptr.space()};
  }
};

}  // namespace tulle
