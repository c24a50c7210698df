// The public conversions: check the arguments, then let the context's backend do it.
#include <tulle/formats/convert.hpp>

#include "kernels/backends.hpp"
#include "core/instantiate.hpp"
#include "formats/check.hpp"

namespace tulle {
namespace {

/// ELL below this many slots is never refused for its padding.
constexpr std::int64_t always_allowed_slots = std::int64_t{1} << 20;

/// Shape and memory of what becomes a CSR, and that its offsets hold the entries. Arrays are checked apart.
template <offset O, class View>
void check_source(const context& ctx, const View& a) {
  check_dimensions("to_csr", a.rows, a.cols, a.nnz);
  check_space("to_csr", ctx, a.space);
  check_offsets_hold<O>("to_csr", a.nnz);
}

/// A copy of a CSR, with offsets that are there already.
template <scalar T, offset O, offset To>
csr<T, To> with_rowptr(const context& ctx, const csr_view<T, O>& a, buffer<To> rowptr) {
  const auto nnz = static_cast<std::size_t>(a.nnz);
  csr<T, To> out{a.rows, a.cols, std::move(rowptr), buffer<index_t>(ctx, nnz), buffer<T>(ctx, nnz)};
  copy_bytes(ctx, out.colind.data(), ctx.space(), a.colind, a.space, out.colind.bytes());
  copy_bytes(ctx, out.values.data(), ctx.space(), a.values, a.space, out.values.bytes());
  return out;
}

/// Writes the values of a CSR into the matrix that was made from it.
template <scalar T, offset O, class Converted>
void refresh(const context& ctx, csr_view<T, O> from, Converted& to,
             void (*update)(const context&, csr_view<T, O>, Converted&)) {
  check_csr("update_values", ctx, from);
  check_space("update_values", ctx, to.values.space());
  if (from.rows != to.rows || from.cols != to.cols) {
    throw error(status::invalid_dimensions,
                fmt::format("update_values: the CSR is {} x {}, the converted matrix {} x {}", from.rows, from.cols,
                            to.rows, to.cols));
  }
  update(ctx, from, to);
}

/// Shape, memory and arrays of a BSR.
template <scalar T, offset O>
void check_bsr(std::string_view function, const context& ctx, const bsr_view<T, O>& a, index_t least_block = 2) {
  check_dimensions(function, a.rows, a.cols, a.nnz);
  check_space(function, ctx, a.space);
  if (a.block < least_block || a.block > 8) {
    throw error(status::invalid_argument,
                fmt::format("{}: BSR block is {}; it must be {} to 8", function, a.block, least_block));
  }
  const std::int64_t block_rows = (static_cast<std::int64_t>(a.rows) + a.block - 1) / a.block;
  if (a.block_rows != block_rows || a.blocks < 0) {
    throw error(status::invalid_dimensions,
                fmt::format("{}: BSR has {} block rows and {} blocks; {} rows need {} block rows", function,
                            a.block_rows, a.blocks, a.rows, block_rows));
  }
  check_array(function, "rowptr", a.rowptr, block_rows + 1);
  check_entries(function, a.colind, a.values, a.blocks);
}

/// The same of a bin_bsr.
template <scalar T>
void check_bin_bsr(std::string_view function, const context& ctx, const bin_bsr_view<T>& a) {
  check_dimensions(function, a.rows, a.cols, a.nnz);
  check_space(function, ctx, a.space);
  if (a.block < 1 || a.block > 8) {
    throw error(status::invalid_argument, fmt::format("{}: block is {}; it must be 1 to 8", function, a.block));
  }
  const std::int64_t bins = (static_cast<std::int64_t>(a.rows) + bin_rows - 1) / bin_rows;
  if (a.bins != bins) {
    throw error(status::invalid_dimensions,
                fmt::format("{}: bin_bsr has {} bins; {} rows need {}", function, a.bins, a.rows, bins));
  }
  check_array(function, "rowptr", a.rowptr, (bins + 1) * bin_rows);
  check_array(function, "colptr", a.colptr, a.nnz);
  check_array(function, "values", a.values, a.nnz);
}

template <class From, class To>
void check_same_blocks(const context& ctx, const From& from, const To& to) {
  check_space("update_values", ctx, to.values.space());
  if (from.rows == to.rows && from.cols == to.cols && from.block == to.block) return;
  throw error(status::invalid_dimensions,
              fmt::format("update_values: blocks of {} of a {} x {} matrix do not fit blocks of {} of a {} x {} one",
                          from.block, from.rows, from.cols, to.block, to.rows, to.cols));
}

}  // namespace

template <scalar T, offset O>
csr<T, O> clone(const context& ctx, csr_view<T, O> a) {
  check_csr("clone", a);
  buffer<O> rowptr(ctx, static_cast<std::size_t>(a.rows) + 1);
  copy_bytes(ctx, rowptr.data(), ctx.space(), a.rowptr, a.space, rowptr.bytes());
  return with_rowptr(ctx, a, std::move(rowptr));
}

template <offset To, scalar T, offset O>
csr<T, To> with_offsets(const context& ctx, csr_view<T, O> a) {
  check_csr("with_offsets", ctx, a);
  check_offsets_hold<To>("with_offsets", a.nnz);
  const auto& kernels = formats_of<T, O>(ctx.backend());
  const auto count = static_cast<std::size_t>(a.rows) + 1;
  if constexpr (std::same_as<To, std::int32_t>) {
    return with_rowptr(ctx, a, kernels.narrow_offsets(ctx, a.rowptr, count));
  } else {
    return with_rowptr(ctx, a, kernels.widen_offsets(ctx, a.rowptr, count));
  }
}

template <scalar T, offset O>
coo<T> to_coo(const context& ctx, csr_view<T, O> a) {
  check_csr("to_coo", ctx, a);
  return formats_of<T, O>(ctx.backend()).csr_to_coo(ctx, a);
}

template <offset O, scalar T>
csr<T, O> to_csr(const context& ctx, coo_view<T> a) {
  check_source<O>(ctx, a);
  check_array("to_csr", "rowind", a.rowind, a.nnz);
  check_entries("to_csr", a.colind, a.values, a.nnz);
  return formats_of<T, O>(ctx.backend()).coo_to_csr(ctx, a);
}

template <scalar T, offset O>
csc<T, O> to_csc(const context& ctx, csr_view<T, O> a) {
  check_csr("to_csc", ctx, a);
  return formats_of<T, O>(ctx.backend()).csr_to_csc(ctx, a);
}

template <scalar T, offset O>
csr<T, O> to_csr(const context& ctx, csc_view<T, O> a) {
  check_csr("to_csr", ctx, transpose(a));
  return transpose(formats_of<T, O>(ctx.backend()).csr_to_csc(ctx, transpose(a)));
}

template <scalar T, offset O>
ell<T> to_ell(const context& ctx, csr_view<T, O> a, double max_padding) {
  check_csr("to_ell", ctx, a);
  const auto& kernels = formats_of<T, O>(ctx.backend());
  const index_t width = kernels.longest_row(ctx, a);
  const std::int64_t slots = static_cast<std::int64_t>(a.rows) * width;  // both below 2^31
  if (slots > always_allowed_slots && !(static_cast<double>(slots) <= max_padding * static_cast<double>(a.nnz))) {
    throw error(
        status::invalid_argument,
        fmt::format("to_ell: {} rows padded to the longest ({} entries) make {} slots, more than {} times the {} "
                    "nonzeros; use sell, or allow more in max_padding",
                    a.rows, width, slots, max_padding, a.nnz));
  }
  return kernels.csr_to_ell(ctx, a, width);
}

template <offset O, scalar T>
csr<T, O> to_csr(const context& ctx, ell_view<T> a) {
  check_source<O>(ctx, a);
  if (a.width < 0) throw error(status::invalid_dimensions, fmt::format("to_csr: ELL width {} is negative", a.width));
  const std::int64_t slots = static_cast<std::int64_t>(a.rows) * a.width;
  check_entries("to_csr", a.colind, a.values, slots);
  return formats_of<T, O>(ctx.backend()).ell_to_csr(ctx, a);
}

template <scalar T, offset O>
sell<T> to_sell(const context& ctx, csr_view<T, O> a, index_t sigma) {
  check_csr("to_sell", ctx, a);
  if (sigma != 1 && (sigma <= 0 || sigma % sell_slice_rows != 0)) {
    throw error(status::invalid_argument, fmt::format("to_sell: sigma is {}; it must be 1 or a multiple of 32", sigma));
  }
  return formats_of<T, O>(ctx.backend()).csr_to_sell(ctx, a, sigma);
}

template <offset O, scalar T>
csr<T, O> to_csr(const context& ctx, sell_view<T> a) {
  check_source<O>(ctx, a);
  const std::int64_t slices = (static_cast<std::int64_t>(a.rows) + sell_slice_rows - 1) / sell_slice_rows;
  if (a.slices != slices) {
    throw error(status::invalid_dimensions,
                fmt::format("to_csr: SELL has {} slices; {} rows need {}", a.slices, a.rows, slices));
  }
  check_array("to_csr", "sliceptr", a.sliceptr, slices + 1);
  check_entries("to_csr", a.colind, a.values, a.nnz);
  return formats_of<T, O>(ctx.backend()).sell_to_csr(ctx, a);
}

template <scalar T, offset O>
bsr<T, O> to_bsr(const context& ctx, csr_view<T, O> a, index_t block) {
  check_csr("to_bsr", ctx, a);
  if (block < 2 || block > 8) {
    throw error(status::invalid_argument, fmt::format("to_bsr: block is {}; it must be 2 to 8", block));
  }
  return formats_of<T, O>(ctx.backend()).csr_to_bsr(ctx, a, block);
}

template <scalar T, offset O>
csr<T, O> to_csr(const context& ctx, bsr_view<T, O> a) {
  check_source<O>(ctx, a);
  check_bsr("to_csr", ctx, a);
  return formats_of<T, O>(ctx.backend()).bsr_to_csr(ctx, a);
}

template <scalar T, offset O>
bin_bsr<T> to_bin_bsr(const context& ctx, csr_view<T, O> a, index_t block) {
  check_csr("to_bin_bsr", ctx, a);
  if (block < 1 || block > 8) {
    throw error(status::invalid_argument, fmt::format("to_bin_bsr: block is {}; it must be 1 to 8", block));
  }
  const auto& kernels = formats_of<T, O>(ctx.backend());
  return kernels.bsr_to_bin_bsr(ctx, kernels.csr_to_bsr(ctx, a, block).view());
}

template <scalar T, offset O>
bin_bsr<T> to_bin_bsr(const context& ctx, bsr_view<T, O> a) {
  check_bsr("to_bin_bsr", ctx, a);
  return formats_of<T, O>(ctx.backend()).bsr_to_bin_bsr(ctx, a);
}

template <offset O, scalar T>
bsr<T, O> to_bsr(const context& ctx, bin_bsr_view<T> a) {
  check_bin_bsr("to_bsr", ctx, a);
  if (a.block < 2) throw error(status::invalid_argument, "to_bsr: the blocks have 1 row; a BSR has blocks of 2 to 8");
  check_offsets_hold<O>("to_bsr", a.nnz);
  return formats_of<T, O>(ctx.backend()).bin_bsr_to_bsr(ctx, a);
}

template <offset O, scalar T>
csr<T, O> to_csr(const context& ctx, bin_bsr_view<T> a) {
  check_bin_bsr("to_csr", ctx, a);
  check_offsets_hold<O>("to_csr", a.nnz);
  const auto& kernels = formats_of<T, O>(ctx.backend());
  return kernels.bsr_to_csr(ctx, kernels.bin_bsr_to_bsr(ctx, a).view());
}

template <scalar T, offset O>
void update_values(const context& ctx, bsr_view<T, O> from, bin_bsr<T>& to) {
  check_bsr("update_values", ctx, from, 1);
  check_same_blocks(ctx, from, to);
  formats_of<T, O>(ctx.backend()).update_bin_bsr(ctx, from, to);
}

template <scalar T, offset O>
void update_values(const context& ctx, bin_bsr_view<T> from, bsr<T, O>& to) {
  check_bin_bsr("update_values", ctx, from);
  check_same_blocks(ctx, from, to);
  formats_of<T, O>(ctx.backend()).update_bsr_of_bins(ctx, from, to);
}

template <scalar T, offset O>
void update_values(const context& ctx, csr_view<T, O> from, ell<T>& to) {
  refresh(ctx, from, to, formats_of<T, O>(ctx.backend()).update_ell);
}

template <scalar T, offset O>
void update_values(const context& ctx, csr_view<T, O> from, sell<T>& to) {
  refresh(ctx, from, to, formats_of<T, O>(ctx.backend()).update_sell);
}

template <scalar T, offset O>
void update_values(const context& ctx, csr_view<T, O> from, bsr<T, O>& to) {
  refresh(ctx, from, to, formats_of<T, O>(ctx.backend()).update_bsr);
}

#define TULLE_INSTANTIATE(T, O)                                                             \
  template csr<T, O> clone(const context&, csr_view<T, O>);                                 \
  template csr<T, std::int32_t> with_offsets<std::int32_t>(const context&, csr_view<T, O>); \
  template csr<T, std::int64_t> with_offsets<std::int64_t>(const context&, csr_view<T, O>); \
  template coo<T> to_coo(const context&, csr_view<T, O>);                                   \
  template csr<T, O> to_csr<O, T>(const context&, coo_view<T>);                             \
  template csc<T, O> to_csc(const context&, csr_view<T, O>);                                \
  template csr<T, O> to_csr(const context&, csc_view<T, O>);                                \
  template ell<T> to_ell(const context&, csr_view<T, O>, double);                           \
  template csr<T, O> to_csr<O, T>(const context&, ell_view<T>);                             \
  template sell<T> to_sell(const context&, csr_view<T, O>, index_t);                        \
  template csr<T, O> to_csr<O, T>(const context&, sell_view<T>);                            \
  template bsr<T, O> to_bsr(const context&, csr_view<T, O>, index_t);                       \
  template csr<T, O> to_csr(const context&, bsr_view<T, O>);                                \
  template void update_values(const context&, csr_view<T, O>, ell<T>&);                     \
  template void update_values(const context&, csr_view<T, O>, sell<T>&);                    \
  template void update_values(const context&, csr_view<T, O>, bsr<T, O>&);                  \
  template bin_bsr<T> to_bin_bsr(const context&, csr_view<T, O>, index_t);                  \
  template bin_bsr<T> to_bin_bsr(const context&, bsr_view<T, O>);                           \
  template bsr<T, O> to_bsr<O, T>(const context&, bin_bsr_view<T>);                         \
  template csr<T, O> to_csr<O, T>(const context&, bin_bsr_view<T>);                         \
  template void update_values(const context&, bsr_view<T, O>, bin_bsr<T>&);                 \
  template void update_values(const context&, bin_bsr_view<T>, bsr<T, O>&);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle
