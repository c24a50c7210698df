// Validation: offsets first, since entries can only be read through sound ones, then entries by ranges of rows.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "core/instantiate.hpp"
#include "cpu/formats/formats.hpp"
#include "cpu/spmv/isa.hpp"

namespace tulle::cpu {
namespace {

/// rowptr[0] = 0, ascending, never past nnz, and nnz at the end. A missing tail is found in the last row.
template <scalar T, offset O>
validation validate_offsets(const context& ctx, csr_view<T, O> a) {
  if (a.rowptr[0] != 0) return {data_status::invalid_offsets, a.rows > 0 ? 0 : -1, -1};
  const index_t first_bad = parallel_reduce(
      threads_for(ctx.threads(), a.rows), a.rows, rows_at_a_time, a.rows,
      [&](index_t r, index_t& bad) {
        if (a.rowptr[r + 1] < a.rowptr[r] || a.rowptr[r + 1] > a.nnz) bad = std::min(bad, r);
      },
      [](index_t& bad, index_t other) { bad = std::min(bad, other); });
  if (first_bad < a.rows) return {data_status::invalid_offsets, first_bad, -1};
  if (a.rowptr[a.rows] != a.nnz) return {data_status::invalid_offsets, static_cast<std::int64_t>(a.rows) - 1, -1};
  return {};
}

/// The gravest defect of entry k of a row that begins at `begin`.
template <scalar T, offset O>
data_status defect_of(csr_view<T, O> a, O begin, O k, validate_options options) {
  const index_t column = a.colind[k];
  if (column < 0 || column >= a.cols) return data_status::index_out_of_range;
  if (k > begin && options.duplicates && column == a.colind[k - 1]) return data_status::duplicate;
  if (k > begin && options.sorted && column < a.colind[k - 1]) return data_status::unsorted;
  if constexpr (std::is_floating_point_v<T>) {
    if (options.finite && std::isnan(a.values[k])) return data_status::nan;
    if (options.finite && std::isinf(a.values[k])) return data_status::inf;
  }
  return data_status::success;
}

/// Whether all columns of the rows exist: what there is to see where nothing else is asked for.
template <scalar T, offset O>
bool columns_exist(csr_view<T, O> a, row_range range) {
  std::uint32_t greatest = 0;
  const O end = a.rowptr[range.end];
  with_isa(
      best_isa(), [&]() __attribute__((always_inline)) {
        std::uint32_t most = 0;
#pragma omp simd reduction(max : most)
        for (O k = a.rowptr[range.begin]; k < end; ++k) most = std::max(most, static_cast<std::uint32_t>(a.colind[k]));
        greatest = most;
      });
  return a.rowptr[range.begin] == end || greatest < static_cast<std::uint32_t>(a.cols);
}

template <scalar T, offset O>
validation first_finding(csr_view<T, O> a, row_range range, validate_options options) {
  for (index_t r = range.begin; r < range.end; ++r) {
    for (O k = a.rowptr[r]; k < a.rowptr[r + 1]; ++k) {
      const data_status what = defect_of(a, a.rowptr[r], k, options);
      if (what != data_status::success) return {what, r, static_cast<std::int64_t>(k)};
    }
  }
  return {};
}

template <scalar T, offset O>
validation validate(const context& ctx, csr_view<T, O> a, validate_options options) {
  const validation offsets = validate_offsets(ctx, a);
  if (!offsets.ok()) return offsets;
  const bool only_columns = !options.sorted && !options.duplicates && !options.finite;
  const int threads = threads_for(ctx, a);
  const int parts = threads == 1 ? 1 : 16 * threads;
  std::atomic<int> first_part{parts};  // the first part with a finding; later ones need not be read
  parallel_for(threads, parts, 1, [&](int part) {
    if (part >= first_part.load(std::memory_order_relaxed)) return;
    const row_range mine = balanced_rows(a.rows, a.rowptr, part, parts);
    if (only_columns ? columns_exist(a, mine) : first_finding(a, mine, options).ok()) return;
    int known = first_part.load(std::memory_order_relaxed);
    while (part < known && !first_part.compare_exchange_weak(known, part, std::memory_order_relaxed)) {
    }
  });
  const int found = first_part.load();
  if (found == parts) return {};
  return first_finding(a, balanced_rows(a.rows, a.rowptr, found, parts), options);
}

}  // namespace

template <scalar T, offset O>
void enter<T, O>::validation(table& made) {
  made.validate = validate<T, O>;
}

#define TULLE_INSTANTIATE(T, O) template void enter<T, O>::validation(table&);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle::cpu
