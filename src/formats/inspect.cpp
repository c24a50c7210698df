// The public statistics and validation.
#include <algorithm>
#include <functional>
#include <tulle/formats/convert.hpp>
#include <tulle/formats/stats.hpp>
#include <tulle/formats/validate.hpp>
#include <vector>

#include "kernels/backends.hpp"
#include "core/instantiate.hpp"
#include "formats/check.hpp"

namespace tulle {
namespace {

std::string_view description(data_status what) {
  switch (what) {
    case data_status::success:
      return "no defect";
    case data_status::inf:
      return "value is infinite";
    case data_status::nan:
      return "value is not a number";
    case data_status::invalid_offsets:
      return "row offsets do not ascend from 0 to nnz";
    case data_status::index_out_of_range:
      return "column index out of range";
    case data_status::duplicate:
      return "column repeated in its row";
    case data_status::unsorted:
      return "columns not in ascending order";
  }
  return "unknown defect";
}

}  // namespace

std::string validation::message() const {
  if (row < 0) return std::string(description(what));
  if (entry < 0) return fmt::format("row {}: {}", row, description(what));
  return fmt::format("row {}, entry {}: {}", row, entry, description(what));
}

template <scalar T, offset O>
csr_stats statistics(const context& ctx, csr_view<T, O> a) {
  check_csr("statistics", ctx, a);
  return formats_of<T, O>(ctx.backend()).statistics(ctx, a);
}

template <scalar T, offset O>
validation validate(const context& ctx, csr_view<T, O> a, validate_options options) {
  check_csr("validate", ctx, a);
  return formats_of<T, O>(ctx.backend()).validate(ctx, a, options);
}

template <scalar T>
validation validate(const context& ctx, bin_bsr_view<T> a) {
  check_dimensions("validate", a.rows, a.cols, a.nnz);
  check_space("validate", ctx, a.space);
  const std::int64_t bins = (std::int64_t{a.rows} + bin_rows - 1) / bin_rows;
  if (a.bins != bins || a.block < 1 || a.block > 8) {
    throw error(status::invalid_dimensions,
                fmt::format("validate: {} bins of {} rows in blocks of {}: must be {} bins, and blocks of 1 to 8",
                            a.bins, a.rows, a.block, bins));
  }
  check_array("validate", "rowptr", a.rowptr, (bins + 1) * bin_rows);
  check_array("validate", "colptr", a.colptr, a.nnz);
  return formats_of<T, std::int64_t>(ctx.backend()).validate_bin_bsr(ctx, a);
}

template <scalar T, offset O>
bin_padding padding_in_bins(const context& ctx, csr_view<T, O> a, index_t block) {
  const std::vector<O> rowptr = to_vector(ctx, to_bsr(ctx, a, block).rowptr);
  const auto length = [&](std::int64_t R) { return static_cast<std::int64_t>(rowptr[R + 1] - rowptr[R]); };
  const auto block_rows = static_cast<std::int64_t>(rowptr.size()) - 1;
  std::int64_t used = 0, slots = 0, compact = 0;
  for (std::int64_t r = 0; r < a.rows; ++r) used += length(r / block);
  for (std::int64_t first = 0; first < a.rows; first += bin_rows) {
    std::int64_t longest = 0;
    for (std::int64_t r = first; r < std::min<std::int64_t>(first + bin_rows, a.rows); ++r) {
      longest = std::max(longest, length(r / block));
    }
    slots += longest * bin_rows;
  }
  std::vector<std::int64_t> window;
  for (std::int64_t first = 0; first < block_rows; first += compact_sigma) {
    window.clear();
    for (std::int64_t R = first; R < std::min<std::int64_t>(first + compact_sigma, block_rows); ++R) {
      window.push_back(length(R));
    }
    std::ranges::sort(window, std::greater());
    for (std::size_t lane = 0; lane < window.size(); lane += bin_rows) compact += window[lane] * bin_rows;
  }
  const auto blocks = static_cast<double>(rowptr.back());
  if (blocks == 0) return {block, 1, 1};
  return {block, static_cast<double>(slots) / static_cast<double>(used), static_cast<double>(compact) / blocks};
}

#define TULLE_INSTANTIATE_VALUE(T) template validation validate(const context&, bin_bsr_view<T>);
TULLE_FOR_EACH_VALUE(TULLE_INSTANTIATE_VALUE)

#define TULLE_INSTANTIATE(T, O)                                  \
  template csr_stats statistics(const context&, csr_view<T, O>); \
  template bin_padding padding_in_bins(const context&, csr_view<T, O>, index_t); \
  template validation validate(const context&, csr_view<T, O>, validate_options);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle
