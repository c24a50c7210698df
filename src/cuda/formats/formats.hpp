// The device implementations of kernels/formats.hpp, one file per format; table.cpp lists them. The context's device must
// be current when they are called. Results are those of the CPU, bit for bit.
#pragma once

#include "kernels/formats.hpp"

namespace tulle::cuda {

template <scalar T, offset O>
coo<T> csr_to_coo(const context& ctx, csr_view<T, O> a);
template <scalar T, offset O>
csr<T, O> coo_to_csr(const context& ctx, coo_view<T> a);
template <scalar T, offset O>
csc<T, O> csr_to_csc(const context& ctx, csr_view<T, O> a);
template <scalar T, offset O>
transposed_pattern<O> transpose_pattern(const context& ctx, csr_view<T, O> a, const std::int64_t* positions);

template <scalar T, offset O>
ell<T> csr_to_ell(const context& ctx, csr_view<T, O> a, index_t width);
template <scalar T, offset O>
csr<T, O> ell_to_csr(const context& ctx, ell_view<T> a);
template <scalar T, offset O>
void update_ell(const context& ctx, csr_view<T, O> from, ell<T>& to);

template <scalar T, offset O>
sell<T> csr_to_sell(const context& ctx, csr_view<T, O> a, index_t sigma);
template <scalar T, offset O>
csr<T, O> sell_to_csr(const context& ctx, sell_view<T> a);
template <scalar T, offset O>
void update_sell(const context& ctx, csr_view<T, O> from, sell<T>& to);

template <scalar T, offset O>
bsr<T, O> csr_to_bsr(const context& ctx, csr_view<T, O> a, index_t block);
template <scalar T, offset O>
csr<T, O> bsr_to_csr(const context& ctx, bsr_view<T, O> a);
template <scalar T, offset O>
void update_bsr(const context& ctx, csr_view<T, O> from, bsr<T, O>& to);

template <scalar T, offset O>
bin_bsr<T> bsr_to_bin_bsr(const context& ctx, bsr_view<T, O> a);
template <scalar T, offset O>
bsr<T, O> bin_bsr_to_bsr(const context& ctx, bin_bsr_view<T> a);
template <scalar T, offset O>
void update_bin_bsr(const context& ctx, bsr_view<T, O> from, bin_bsr<T>& to);
template <scalar T, offset O>
void update_bsr_of_bins(const context& ctx, bin_bsr_view<T> from, bsr<T, O>& to);
template <scalar T>
validation validate_bin_bsr(const context& ctx, bin_bsr_view<T> a);
template <scalar T, offset O>
compact_bin_bsr<T> bsr_to_compact(const context& ctx, bsr_view<T, O> a, index_t sigma);
template <scalar T, offset O>
void update_compact(const context& ctx, bsr_view<T, O> from, compact_bin_bsr<T>& to);

template <offset O>
buffer<std::int32_t> narrow_offsets(const context& ctx, const O* rowptr, std::size_t count);
template <offset O>
buffer<std::int64_t> widen_offsets(const context& ctx, const O* rowptr, std::size_t count);
/// Throws OVERFLOW when a row has 2^31 entries or more.
template <scalar T, offset O>
index_t longest_row(const context& ctx, csr_view<T, O> a);

template <scalar T, offset O>
inspection inspect(const context& ctx, csr_view<T, O> a);
template <scalar T, offset O>
csr_stats statistics(const context& ctx, csr_view<T, O> a);
template <scalar T, offset O>
validation validate(const context& ctx, csr_view<T, O> a, validate_options options);

}  // namespace tulle::cuda
