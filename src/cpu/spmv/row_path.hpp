// Which way sums rows of CSR soonest on this processor.
#pragma once

#include <cstdint>
#include <string>
#include <tulle/core/types.hpp>
#include <tulle/formats/views.hpp>

#include "cpu/spmv/rows.hpp"

namespace tulle::cpu {

/// How well a processor foresees where rows end: because most are as long as the one before, or hold so few entries
/// that it remembers them; because it may remember them, being not many rows; or not.
enum class row_ends : std::uint8_t { alike, not_many, many };

/// For rows of so many entries on average, in one type of vectors. Where there is a choice (all that there are give the
/// same bits) it is made by time: at the first call some hundred thousand entries are multiplied by each, 40 ms in all,
/// and what was found is remembered in cache_directory() and by the process. `sorts`: rows may be put in order by
/// length, which takes some nanoseconds a row.
row_path fastest_row_path(scalar_type vectors, double mean, row_ends ends, bool sorts = false);

/// Rows that a processor may remember the ends of; `fastest_row_path` measures what is fastest of so many, and of more.
constexpr index_t not_many_rows = 4096;

/// Of the rows of one of `threads`: some are looked at.
template <scalar T, offset O>
row_ends row_ends_of(csr_view<T, O> a, int threads) {
  constexpr O remembered = 8192;
  constexpr std::int64_t samples = 128;
  const O mine = a.nnz / threads;
  if (mine < remembered || a.rows < 2 * samples) return row_ends::alike;
  int alike = 0;
  for (std::int64_t i = 0; i < samples; ++i) {
    const O* const row = a.rowptr + i * (a.rows - 1) / samples;
    alike += row[1] - row[0] == row[2] - row[1] ? 1 : 0;
  }
  if (8 * alike >= 7 * samples) return row_ends::alike;
  return a.rows / threads <= not_many_rows ? row_ends::not_many : row_ends::many;
}
template <scalar V, scalar T, offset O>
row_path fastest_row_path(csr_view<T, O> a, int threads, bool sorts) {
  const row_ends ends = row_ends_of(a, threads);
  return fastest_row_path(scalar_type_of<V>, a.rows == 0 ? 0 : static_cast<double>(a.nnz) / a.rows, ends,
                          sorts && ends != row_ends::alike);
}

/// What was found, for `tulle doctor`.
std::string describe_row_paths();

}  // namespace tulle::cpu
