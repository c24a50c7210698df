// Into how many parts the CPU's `packed` cuts a matrix, and how many threads they are worth: the kernel and what
// predicts its time agree on both.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tulle/formats/stats.hpp>

#include "core/parallel.hpp"

namespace tulle {

/// Parts depend on the matrix alone, so that no number of threads shows in sums over rows. Their number is one that
/// many numbers of threads divide. `work`: rows and entries.
inline int packed_parts(std::int64_t work) {
  constexpr std::int64_t of_a_part = 1 << 14;
  const int most = threads_for(240, work, of_a_part);
  const auto down_to = [most](int multiple) { return most / multiple * multiple; };
  if (most >= 48) return down_to(24);
  if (most >= 8) return down_to(8);
  if (most >= 4) return 4;
  return work >= of_a_part ? 2 : 1;
}

/// An entry on a diagonal takes a quarter of the time of one that is gathered.
inline int packed_threads(int most, std::int64_t work, bool by_diagonal) {
  return threads_for_product(most, by_diagonal ? work / 4 : work);
}

/// The longest row that `packed` stores in slices: one that is much longer than others would leave their lanes empty,
/// and is summed as it is in CSR.
inline std::int64_t longest_packed_row(std::int64_t rows, std::int64_t nnz) {
  constexpr std::int64_t least = 64, times_mean = 8;
  return std::max(least, times_mean * nnz / std::max<std::int64_t>(rows, 1));
}

/// Slots of its slices for a nonzero, with rows sorted or in place, and entries of long rows, about: as many as the
/// spread of the lengths stands for.
inline double packed_padding(const csr_stats& s) {
  const double all = std::min(s.sell_padding, s.sell_sorted_padding);
  return s.max > longest_packed_row(s.rows, s.nnz) ? std::min(all, s.slice_padding) : all;
}
/// The same with rows sorted alone, which is what its limit is held against.
inline double packed_sorted_padding(const csr_stats& s) {
  const double all = s.sell_sorted_padding;
  return s.max > longest_packed_row(s.rows, s.nnz) ? std::min(all, s.slice_padding) : all;
}
inline double entries_apart(const csr_stats& s) {
  if (s.max <= longest_packed_row(s.rows, s.nnz)) return 0;
  return std::min(static_cast<double>(s.nnz), s.rows * s.stddev * s.stddev / s.max);
}

}  // namespace tulle
