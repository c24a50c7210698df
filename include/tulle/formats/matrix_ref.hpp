/// @file
/// A matrix as a value that any backend, language and solver can hold: its format and types are known at run time.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include <tulle/core/types.hpp>
#include <tulle/formats/matrices.hpp>
#include <tulle/formats/views.hpp>

namespace tulle {

/// How a matrix is stored; formats/views.hpp says what each is.
enum class matrix_format : std::uint8_t {
  csr,      ///< compressed sparse rows
  csc,      ///< compressed sparse columns
  coo,      ///< coordinates
  ell,      ///< ELLPACK
  sell,     ///< SELL-32-sigma
  bsr,      ///< compressed rows of dense blocks
  bin_bsr,  ///< bins of 32 rows of dense blocks
};
/// "csr", "csc", "coo", "ell", "sell", "bsr", "bin_bsr".
std::string_view name(matrix_format f) noexcept;

namespace detail {
template <class M>
concept owning_matrix = requires(const std::remove_cvref_t<M>& m) {
  m.view();
  requires scalar<std::remove_cvref_t<decltype(*m.view().values)>>;
};
template <owning_matrix M>
using value_of = std::remove_cvref_t<decltype(*std::declval<const std::remove_cvref_t<M>&>().view().values)>;
}  // namespace detail

/// Format, shape, types and arrays of a matrix. The arrays are the caller's, and must outlive the ref and everything made
/// from it, unless the ref has an owner that keeps them alive: a ref made of a temporary csr, coo, ... has, and so have
/// those that products and conversions return. Copies share the arrays and the owner.
struct matrix_ref {
  type_key types;                ///< of values and offsets
  index_t rows = 0;              ///< rows of the matrix, in scalars
  index_t cols = 0;              ///< columns of the matrix, in scalars
  std::int64_t nnz = 0;          ///< stored entries, without padding and fill
  const void* rowptr = nullptr;  ///< csr: rows + 1; csc: cols + 1 column offsets; bsr: block rows + 1; sell: slices +
                                 ///< 1; bin_bsr: 32 * (bins + 1)
  const index_t* colind = nullptr;              ///< csc: row indices; bsr: of blocks; bin_bsr: colptr
  const void* values = nullptr;                 ///< as the format has them
  memory_space space = memory_space::host;      ///< of all the arrays
  int device = -1;                              ///< the number of the device, -1: not known, or the host
  matrix_format format = matrix_format::csr;    ///< says what the members mean
  const index_t* rowind = nullptr;              ///< coo: rows; sell: perm, or null
  index_t block = 0;                            ///< bsr, bin_bsr: rows of a block; ell: slots a row
  std::int64_t stored = 0;                      ///< bsr: blocks; sell: slices; bin_bsr: bins; else nnz
  const std::uint64_t* mask = nullptr;          ///< bsr: as in bsr_view
  const std::uint8_t* row_mask = nullptr;       ///< bin_bsr: mask
  std::shared_ptr<const void> owner = nullptr;  ///< keeps the arrays alive; null: the caller does

  matrix_ref() noexcept = default;
  /// Borrows the arrays of a CSR.
  template <scalar T, offset O>
  matrix_ref(csr_view<T, O> a) noexcept
      : matrix_ref(matrix_format::csr, type_key_of<T, O>, a, a.rowptr, a.colind) {}
  /// Borrows the arrays of a CSC.
  template <scalar T, offset O>
  matrix_ref(csc_view<T, O> a) noexcept
      : matrix_ref(matrix_format::csc, type_key_of<T, O>, a, a.colptr, a.rowind) {}
  /// Borrows the arrays of a COO.
  template <scalar T>
  matrix_ref(coo_view<T> a) noexcept
      : matrix_ref(matrix_format::coo, type_key_of<T, std::int64_t>, a, nullptr, a.colind) {
    rowind = a.rowind;
  }
  /// Borrows the arrays of an ELL.
  template <scalar T>
  matrix_ref(ell_view<T> a) noexcept
      : matrix_ref(matrix_format::ell, type_key_of<T, std::int64_t>, a, nullptr, a.colind) {
    block = a.width;
  }
  /// Borrows the arrays of a SELL.
  template <scalar T>
  matrix_ref(sell_view<T> a) noexcept
      : matrix_ref(matrix_format::sell, type_key_of<T, std::int64_t>, a, a.sliceptr, a.colind) {
    rowind = a.perm;
    stored = a.slices;
  }
  /// Borrows the arrays of a BSR.
  template <scalar T, offset O>
  matrix_ref(bsr_view<T, O> a) noexcept
      : matrix_ref(matrix_format::bsr, type_key_of<T, O>, a, a.rowptr, a.colind) {
    block = a.block;
    stored = a.blocks;
    mask = a.mask;
  }
  /// Borrows the arrays of a bin_bsr.
  template <scalar T>
  matrix_ref(bin_bsr_view<T> a) noexcept
      : matrix_ref(matrix_format::bin_bsr, type_key_of<T, std::int64_t>, a, a.rowptr, a.colptr) {
    block = a.block;
    stored = a.bins;
    row_mask = a.mask;
  }
  /// Borrows the arrays of a matrix that somebody else keeps.
  template <detail::owning_matrix M>
  matrix_ref(const M& a) noexcept : matrix_ref(a.view()) {
    device = a.values.device();
  }
  /// Owns a matrix that is given away.
  template <detail::owning_matrix M>
    requires(!std::is_lvalue_reference_v<M> && !std::is_const_v<M>)
  matrix_ref(M&& a) : matrix_ref(std::make_shared<const M>(std::move(a))) {}
  /// Shares a matrix, which stays alive with the ref and its copies.
  template <detail::owning_matrix M>
  explicit matrix_ref(std::shared_ptr<const M> a) : matrix_ref(*a) {
    owner = std::move(a);
  }

  /// Rows and columns, in scalars.
  [[nodiscard]] shape dimensions() const noexcept { return {rows, cols}; }

  /// The typed view again; T and O must be those of `types`, and the format that of the view.
  template <scalar T, offset O>
  [[nodiscard]] csr_view<T, O> as() const noexcept {
    return {rows, cols, static_cast<O>(nnz), static_cast<const O*>(rowptr), colind, static_cast<const T*>(values), space};
  }
  /// The same of a CSC.
  template <scalar T, offset O>
  [[nodiscard]] csc_view<T, O> as_csc() const noexcept {
    return {rows, cols, static_cast<O>(nnz), static_cast<const O*>(rowptr), colind, static_cast<const T*>(values), space};
  }
  /// The same of a COO.
  template <scalar T>
  [[nodiscard]] coo_view<T> as_coo() const noexcept {
    return {rows, cols, nnz, rowind, colind, static_cast<const T*>(values), space};
  }
  /// The same of an ELL.
  template <scalar T>
  [[nodiscard]] ell_view<T> as_ell() const noexcept {
    return {rows, cols, nnz, block, colind, static_cast<const T*>(values), space};
  }
  /// The same of a SELL.
  template <scalar T>
  [[nodiscard]] sell_view<T> as_sell() const noexcept {
    return {rows,   cols, nnz, static_cast<index_t>(stored), static_cast<const std::int64_t*>(rowptr), rowind, colind,
            static_cast<const T*>(values), space};
  }
  /// The same of a BSR.
  template <scalar T, offset O>
  [[nodiscard]] bsr_view<T, O> as_bsr() const noexcept {
    const auto block_rows = static_cast<index_t>((std::int64_t{rows} + block - 1) / block);
    return {rows, cols, nnz, block, block_rows, static_cast<O>(stored), static_cast<const O*>(rowptr), colind,
            static_cast<const T*>(values), mask, space};
  }
  /// The same of a bin_bsr.
  template <scalar T>
  [[nodiscard]] bin_bsr_view<T> as_bin_bsr() const noexcept {
    return {rows,   cols,  nnz, block, static_cast<index_t>(stored), static_cast<const std::int64_t*>(rowptr), colind,
            static_cast<const T*>(values), row_mask, space};
  }

 private:
  template <class View>
  matrix_ref(matrix_format f, type_key t, const View& a, const void* offsets, const index_t* indices) noexcept
      : types(t),
        rows(a.rows),
        cols(a.cols),
        nnz(static_cast<std::int64_t>(a.nnz)),
        rowptr(offsets),
        colind(indices),
        values(a.values),
        space(a.space),
        format(f),
        stored(nnz) {}
};

/// The transpose as a relabelling of CSR and CSC: no data moves. Throws UNSUPPORTED for other formats.
matrix_ref transposed(matrix_ref a);

}  // namespace tulle
