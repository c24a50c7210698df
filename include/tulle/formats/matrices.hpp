// Owning matrices: the arrays of the views, in buffers. Made by the readers, the generators and `convert.hpp`.
#pragma once

#include <cstdint>

#include <tulle/core/buffer.hpp>
#include <tulle/core/types.hpp>
#include <tulle/formats/views.hpp>

namespace tulle {

/// Owning CSR. 64-bit offsets by default: any matrix fits, and a plan narrows them where 32 bits are enough.
template <scalar T, offset O = std::int64_t>
struct csr {
  index_t rows = 0;
  index_t cols = 0;
  buffer<O> rowptr;
  buffer<index_t> colind;
  buffer<T> values;

  [[nodiscard]] O nnz() const noexcept { return static_cast<O>(values.size()); }
  [[nodiscard]] csr_view<T, O> view() const noexcept {
    return {rows, cols, nnz(), rowptr.data(), colind.data(), values.data(), rowptr.space()};
  }
};

template <scalar T, offset O = std::int64_t>
struct csc {
  index_t rows = 0;
  index_t cols = 0;
  buffer<O> colptr;
  buffer<index_t> rowind;
  buffer<T> values;

  [[nodiscard]] O nnz() const noexcept { return static_cast<O>(values.size()); }
  [[nodiscard]] csc_view<T, O> view() const noexcept {
    return {rows, cols, nnz(), colptr.data(), rowind.data(), values.data(), colptr.space()};
  }
};

/// Relabels an owning matrix as its transpose: no data moves.
template <scalar T, offset O>
csc<T, O> transpose(csr<T, O>&& a) {
  return {a.cols, a.rows, std::move(a.rowptr), std::move(a.colind), std::move(a.values)};
}
template <scalar T, offset O>
csr<T, O> transpose(csc<T, O>&& a) {
  return {a.cols, a.rows, std::move(a.colptr), std::move(a.rowind), std::move(a.values)};
}

template <scalar T>
struct coo {
  index_t rows = 0;
  index_t cols = 0;
  buffer<index_t> rowind;
  buffer<index_t> colind;
  buffer<T> values;

  [[nodiscard]] std::int64_t nnz() const noexcept { return static_cast<std::int64_t>(values.size()); }
  [[nodiscard]] coo_view<T> view() const noexcept {
    return {rows, cols, nnz(), rowind.data(), colind.data(), values.data(), values.space()};
  }
};

template <scalar T>
struct ell {
  index_t rows = 0;
  index_t cols = 0;
  std::int64_t nnz = 0;
  index_t width = 0;
  buffer<index_t> colind;
  buffer<T> values;

  [[nodiscard]] ell_view<T> view() const noexcept {
    return {rows, cols, nnz, width, colind.data(), values.data(), values.space()};
  }
};

template <scalar T>
struct sell {
  index_t rows = 0;
  index_t cols = 0;
  std::int64_t nnz = 0;
  index_t slices = 0;
  buffer<std::int64_t> sliceptr;
  buffer<index_t> perm;  // empty when no row moved
  buffer<index_t> colind;
  buffer<T> values;

  [[nodiscard]] sell_view<T> view() const noexcept {
    return {rows,         cols,          nnz, slices, sliceptr.data(), perm.data(), colind.data(),
            values.data(), sliceptr.space()};
  }
};

template <scalar T, offset O = std::int64_t>
struct bsr {
  index_t rows = 0;
  index_t cols = 0;
  std::int64_t nnz = 0;
  index_t block = 2;
  index_t block_rows = 0;
  buffer<O> rowptr;
  buffer<index_t> colind;
  buffer<T> values;
  buffer<std::uint64_t> mask;  // empty when every block is full

  [[nodiscard]] bsr_view<T, O> view() const noexcept {
    return {rows,          cols,          nnz,         block,      block_rows, static_cast<O>(colind.size()),
            rowptr.data(), colind.data(), values.data(), mask.data(), rowptr.space()};
  }
};

template <scalar T>
struct bin_bsr {
  index_t rows = 0;
  index_t cols = 0;
  std::int64_t nnz = 0;
  index_t block = 6;
  index_t bins = 0;
  buffer<std::int64_t> rowptr;
  buffer<index_t> colptr;
  buffer<T> values;
  buffer<std::uint8_t> mask;  // empty when every block is full

  [[nodiscard]] bin_bsr_view<T> view() const noexcept {
    return {rows,          cols,          nnz,           block,       bins,
            rowptr.data(), colptr.data(), values.data(), mask.data(), rowptr.space()};
  }
};

}  // namespace tulle
