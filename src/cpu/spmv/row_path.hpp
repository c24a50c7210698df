// Which way sums rows of CSR soonest on this processor.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <tulle/core/types.hpp>
#include <tulle/formats/views.hpp>

#include "cpu/spmv/rows.hpp"
#include "kernels/processor.hpp"
#include "kernels/x_reach.hpp"

namespace tulle::cpu {

/// How well a processor foresees where rows end: because the lengths of two rows are mostly followed by the same
/// one, or rows hold so few entries that it remembers them; because it may remember them, being not many rows; or
/// not.
enum class row_ends : std::uint8_t { foreseen, not_many, many };

/// For rows of so many entries on average, in one type of vectors. Where there is a choice (all that there are give the
/// same bits) it is made by time: at the first call some hundred thousand entries are multiplied by each, 40 ms in all,
/// and what was found is remembered in cache_directory() and by the process. `sorts`: rows may be put in order by
/// length, which takes some nanoseconds a row.
row_path fastest_row_path(scalar_type vectors, double mean, row_ends ends, bool sorts = false);

/// The same for rows of more than 8 entries where `scatters_beside_stream` and gathers are slow with all in caches: some
/// million entries are multiplied, 0.1 s, when a matrix first asks for it.
row_path fastest_far_row_path(scalar_type vectors);

/// Entries of a row above which order of length gains nothing where it is guessed wrong, and loses up to half of the
/// speed where memory has to be read row by row in that order.
constexpr double most_by_length = 8;

/// Rows that a processor may remember the ends of; `fastest_row_path` measures what is fastest of so many, and of more.
constexpr index_t not_many_rows = 4096;

/// The share of rows, of some that are looked at, that are as long as what followed the lengths of the two rows before
/// when these were seen last: a processor that learns does as well at least.
template <offset O>
double foreseen_lengths(const O* rowptr, index_t rows) {
  constexpr index_t places = 16, in_a_place = 64, lengths = 32;  // told apart
  O followed_by[lengths][lengths];
  std::fill_n(&followed_by[0][0], lengths * lengths, O{-1});
  int foreseen = 0;
  for (index_t p = 0; p < places; ++p) {
    const O* const begin = rowptr + std::int64_t{rows - in_a_place} * p / (places - 1);
    O first = begin[1] - begin[0], second = begin[2] - begin[1];
    for (index_t i = 2; i < in_a_place; ++i) {
      const O length = begin[i + 1] - begin[i];
      O& guess = followed_by[first % lengths][second % lengths];
      foreseen += guess == length ? 1 : 0;
      guess = length, first = second, second = length;
    }
  }
  return static_cast<double>(foreseen) / (places * (in_a_place - 2));
}

/// Of the rows of one of `threads`.
template <scalar T, offset O>
row_ends row_ends_of(csr_view<T, O> a, int threads) {
  constexpr O remembered = 8192;
  constexpr index_t least_rows = 256;
  constexpr double mostly = 0.8;
  const O mine = a.nnz / threads;
  if (mine < remembered || a.rows < least_rows || foreseen_lengths(a.rowptr, a.rows) >= mostly) {
    return row_ends::foreseen;
  }
  return a.rows / threads <= not_many_rows ? row_ends::not_many : row_ends::many;
}

/// What is fastest of the rows of a matrix.
struct row_paths {
  row_path in_place;
  row_path of_all;  // where rows may be put in order by length

  /// `threads` share the rows, which are looked at once.
  template <scalar V, scalar T, offset O>
  static row_paths of(csr_view<T, O> a, const csr_stats& stats, int threads) {
    const double mean = a.rows == 0 ? 0 : static_cast<double>(a.nnz) / a.rows;
    const std::size_t bytes = static_cast<std::size_t>(a.nnz) * (sizeof(T) + sizeof(index_t));
    if (mean > most_by_length && this_processor() == processor_class::loads &&
        scatters_beside_stream(stats, bytes, threads, sizeof(V), gathers_in_rows)) {
      const row_path path = fastest_far_row_path(scalar_type_of<V>);
      return {path, path};
    }
    const row_ends ends = row_ends_of(a, threads);
    const auto fastest = [&](bool sorts) { return fastest_row_path(scalar_type_of<V>, mean, ends, sorts); };
    return {fastest(false), fastest(ends != row_ends::foreseen)};
  }
};

/// What was found, for `tulle doctor`.
std::string describe_row_paths();

}  // namespace tulle::cpu
