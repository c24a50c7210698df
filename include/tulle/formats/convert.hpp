/// @file
/// Conversions between formats, all through CSR, each on the backend of its context.
///
/// Every function takes a view whose arrays are in the context's memory space (else INVALID_ARGUMENT) and returns an
/// owning matrix there. They are stable and deterministic. Structure is trusted: validate() untrusted input first.
#pragma once

#include <cstdint>

#include <tulle/core/context.hpp>
#include <tulle/formats/matrices.hpp>
#include <tulle/formats/views.hpp>

namespace tulle {

/// CSR copied to another context (host to device, device to host, or within one).
template <scalar T, offset O>
csr<T, O> clone(const context& ctx, csr_view<T, O> a);

/// CSR with offsets of another width. Throws OVERFLOW when nnz does not fit.
template <offset To, scalar T, offset O>
csr<T, To> with_offsets(const context& ctx, csr_view<T, O> a);

/// The entries in the order of the CSR, with their row indices.
template <scalar T, offset O>
coo<T> to_coo(const context& ctx, csr_view<T, O> a);
/// Rows in order; entries of one row keep their order, duplicates stay. Throws OVERFLOW when nnz exceeds O.
template <offset O = std::int64_t, scalar T>
csr<T, O> to_csr(const context& ctx, coo_view<T> a);

/// Column-compressed arrays of the same matrix; entries of one column in order of their row.
template <scalar T, offset O>
csc<T, O> to_csc(const context& ctx, csr_view<T, O> a);
/// Entries of one row in order of their column.
template <scalar T, offset O>
csr<T, O> to_csr(const context& ctx, csc_view<T, O> a);

/// `width` = the longest row. Throws OVERFLOW when rows * width slots do not fit 63 bits, INVALID_ARGUMENT when
/// padding would make the matrix more than `max_padding` times its nonzeros (and 2^20 slots).
template <scalar T, offset O>
ell<T> to_ell(const context& ctx, csr_view<T, O> a, double max_padding = 10.0);
/// Without the padding; entries of a row in the order of their slots. Throws OVERFLOW when nnz exceeds O.
template <offset O = std::int64_t, scalar T>
csr<T, O> to_csr(const context& ctx, ell_view<T> a);

/// `sigma`: rows of a sorting window, a multiple of 32; 1 keeps every row in place.
template <scalar T, offset O>
sell<T> to_sell(const context& ctx, csr_view<T, O> a, index_t sigma = 1024);
/// Without the padding, rows back in place; entries of a row in the order of their slots. Throws OVERFLOW when nnz
/// exceeds O.
template <offset O = std::int64_t, scalar T>
csr<T, O> to_csr(const context& ctx, sell_view<T> a);

/// `block` 2 to 8; blocks of a block row in order of their column; duplicate entries are added up.
template <scalar T, offset O>
bsr<T, O> to_bsr(const context& ctx, csr_view<T, O> a, index_t block);
/// Columns sorted within each row.
template <scalar T, offset O>
csr<T, O> to_csr(const context& ctx, bsr_view<T, O> a);

/// `block` 1 to 8; as a BSR of the same blocks, of which duplicates were added up.
template <scalar T, offset O>
bin_bsr<T> to_bin_bsr(const context& ctx, csr_view<T, O> a, index_t block = 6);
/// The blocks of a block row keep their order.
template <scalar T, offset O>
bin_bsr<T> to_bin_bsr(const context& ctx, bsr_view<T, O> a);
/// Blocks of 2 to 8, in the order in which the rows list them. Throws OVERFLOW when they exceed O.
template <offset O = std::int64_t, scalar T>
bsr<T, O> to_bsr(const context& ctx, bin_bsr_view<T> a);
/// Columns of a row in the order of its blocks.
template <offset O = std::int64_t, scalar T>
csr<T, O> to_csr(const context& ctx, bin_bsr_view<T> a);

/// Rewrites the values of a converted matrix from the CSR that it was made from, with new numbers in the same pattern.
template <scalar T, offset O>
void update_values(const context& ctx, csr_view<T, O> from, ell<T>& to);
/// The same for SELL.
template <scalar T, offset O>
void update_values(const context& ctx, csr_view<T, O> from, sell<T>& to);
/// The same for BSR.
template <scalar T, offset O>
void update_values(const context& ctx, csr_view<T, O> from, bsr<T, O>& to);
/// From the BSR that it was made from, or has the blocks of; and back.
template <scalar T, offset O>
void update_values(const context& ctx, bsr_view<T, O> from, bin_bsr<T>& to);
/// A BSR's values from those of the bins.
template <scalar T, offset O>
void update_values(const context& ctx, bin_bsr_view<T> from, bsr<T, O>& to);

}  // namespace tulle
