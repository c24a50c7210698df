// Which way sums rows of CSR soonest on this processor.
#pragma once

#include <string>
#include <tulle/core/types.hpp>
#include <tulle/formats/views.hpp>

#include "cpu/spmv/rows.hpp"

namespace tulle::cpu {

/// For rows of so many entries on average, in one type of vectors, whose lengths a processor foresees or not. Where
/// there is a choice (all that there are give the same bits) it is made by time: at the first call some ten thousand
/// entries are multiplied by each, 10 ms in all, and what was found is remembered in cache_directory() and by the
/// process.
row_path fastest_row_path(scalar_type vectors, double mean, bool foreseen);

/// Whether most rows are as long as the one before (some are looked at), or rows are so few that a processor remembers
/// them.
template <scalar T, offset O>
bool lengths_are_foreseen(csr_view<T, O> a) {
  constexpr O remembered = 8192;
  constexpr std::int64_t samples = 128;
  if (a.nnz < remembered || a.rows < 2 * samples) return true;
  int alike = 0;
  for (std::int64_t i = 0; i < samples; ++i) {
    const O* const row = a.rowptr + i * (a.rows - 1) / samples;
    alike += row[1] - row[0] == row[2] - row[1] ? 1 : 0;
  }
  return 8 * alike >= 7 * samples;
}
template <scalar V, scalar T, offset O>
row_path fastest_row_path(csr_view<T, O> a) {
  return fastest_row_path(scalar_type_of<V>, a.rows == 0 ? 0 : static_cast<double>(a.nnz) / a.rows,
                          lengths_are_foreseen(a));
}

/// What was found, for `tulle doctor`.
std::string describe_row_paths();

}  // namespace tulle::cpu
