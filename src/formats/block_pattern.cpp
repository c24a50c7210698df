// The public block patterns: check the arguments, then let the context's backend do it.
#include <tulle/formats/block_pattern.hpp>

#include "core/instantiate.hpp"
#include "formats/check.hpp"
#include "kernels/backends.hpp"

namespace tulle {
namespace {

void check_pairs(const context& ctx, const block_pairs_view& pairs, const block_pattern_options& options) {
  check_dimensions("find_block_pattern", pairs.block_rows, pairs.block_cols, pairs.pairs);
  check_space("find_block_pattern", ctx, pairs.space);
  if (options.block < 1 || options.block > 8) {
    throw error(status::invalid_argument,
                fmt::format("find_block_pattern: block is {}; it must be 1 to 8", options.block));
  }
  const std::int64_t most = std::numeric_limits<index_t>::max() / options.block;
  if (pairs.block_rows > most || pairs.block_cols > most) {
    throw error(status::invalid_dimensions,
                fmt::format("find_block_pattern: {} x {} blocks of {} rows are 2^31 rows or more", pairs.block_rows,
                            pairs.block_cols, options.block));
  }
  if (options.symmetric && pairs.block_rows != pairs.block_cols) {
    throw error(status::invalid_dimensions, fmt::format("find_block_pattern: {} x {} blocks cannot be symmetric",
                                                        pairs.block_rows, pairs.block_cols));
  }
  if (pairs.pairs > std::numeric_limits<std::int64_t>::max() / 64) {
    throw error(status::invalid_dimensions, fmt::format("find_block_pattern: {} pairs are too many", pairs.pairs));
  }
  check_array("find_block_pattern", "rowind", pairs.rowind, pairs.pairs);
  check_array("find_block_pattern", "colind", pairs.colind, pairs.pairs);
}

/// What `to` must be, to be assembled.
template <class Matrix>
void check_target(const context& ctx, const block_pattern& pattern, const void* values, const Matrix& to,
                  std::int64_t places) {
  check_space("assemble", ctx, to.values.space());
  check_space("assemble", ctx, pattern.rowptr.space());
  check_array("assemble", "values", values, pattern.pairs);
  if (to.rows != pattern.rows() || to.cols != pattern.cols() || to.block != pattern.block ||
      static_cast<std::int64_t>(to.values.size()) != places) {
    throw error(status::invalid_dimensions,
                fmt::format("assemble: the matrix is {} x {} in blocks of {} with {} values; the pattern asks for {} x "
                            "{}, {} and {}",
                            to.rows, to.cols, to.block, to.values.size(), pattern.rows(), pattern.cols(), pattern.block,
                            places));
  }
}

}  // namespace

block_pattern find_block_pattern(const context& ctx, const block_pairs_view& pairs,
                                 const block_pattern_options& options) {
  check_pairs(ctx, pairs, options);
  return block_patterns_of(ctx.backend()).find(ctx, pairs, options);
}

template <scalar T, offset O>
bsr<T, O> make_bsr(const context& ctx, const block_pattern& pattern) {
  check_space("make_bsr", ctx, pattern.rowptr.space());
  if (pattern.block < 2) throw error(status::invalid_argument, "make_bsr: a BSR has blocks of 2 to 8, not of 1");
  check_offsets_hold<O>("make_bsr", pattern.blocks());
  bsr<T, O> out;
  out.rows = pattern.rows();
  out.cols = pattern.cols();
  out.nnz = pattern.blocks() * pattern.block * pattern.block;
  out.block = pattern.block;
  out.block_rows = pattern.block_rows;
  if constexpr (std::same_as<O, std::int64_t>) {
    out.rowptr = clone(ctx, pattern.rowptr);
  } else {
    out.rowptr =
        formats_of<T, std::int64_t>(ctx.backend()).narrow_offsets(ctx, pattern.rowptr.data(), pattern.rowptr.size());
  }
  out.colind = clone(ctx, pattern.colind);
  out.values = buffer<T>(ctx, static_cast<std::size_t>(out.nnz));
  return out;
}

template <scalar T>
bin_bsr<T> make_bin_bsr(const context& ctx, const block_pattern& pattern) {
  check_space("make_bin_bsr", ctx, pattern.rowptr.space());
  bin_bsr<T> out;
  out.rows = pattern.rows();
  out.cols = pattern.cols();
  out.nnz = pattern.blocks() * pattern.block * pattern.block;
  out.block = pattern.block;
  out.bins = static_cast<index_t>(pattern.binptr.size()) - 1;
  const auto slots = static_cast<std::size_t>(pattern.slots);
  out.rowptr = buffer<std::int64_t>(ctx, pattern.binptr.size() * bin_rows);
  out.colptr = buffer<index_t>(ctx, slots);
  out.values = buffer<T>(ctx, slots * static_cast<std::size_t>(out.block));
  block_patterns_of(ctx.backend()).fill_bins(ctx, pattern, out.rowptr.data(), out.colptr.data());
  fill_bytes(ctx, out.values.data(), ctx.space(), 0, out.values.bytes());
  return out;
}

template <scalar T, offset O>
void assemble(const context& ctx, const block_pattern& pattern, const T* values, bsr<T, O>& to) {
  check_target(ctx, pattern, values, to, pattern.blocks() * pattern.block * pattern.block);
  block_patterns_of(ctx.backend()).assemble_bsr(ctx, pattern, scalar_type_of<T>, values, to.values.data());
}

template <scalar T>
void assemble(const context& ctx, const block_pattern& pattern, const T* values, bin_bsr<T>& to) {
  check_target(ctx, pattern, values, to, pattern.slots * pattern.block);
  block_patterns_of(ctx.backend()).assemble_bins(ctx, pattern, scalar_type_of<T>, values, to.values.data());
}

#define TULLE_INSTANTIATE(T, O)                                            \
  template bsr<T, O> make_bsr<T, O>(const context&, const block_pattern&); \
  template void assemble(const context&, const block_pattern&, const T*, bsr<T, O>&);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)
#define TULLE_INSTANTIATE_VALUE(T)                                           \
  template bin_bsr<T> make_bin_bsr<T>(const context&, const block_pattern&); \
  template void assemble(const context&, const block_pattern&, const T*, bin_bsr<T>&);
TULLE_FOR_EACH_VALUE(TULLE_INSTANTIATE_VALUE)

}  // namespace tulle
