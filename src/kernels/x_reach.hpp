// How much of x a product reads around the same time, and how a core reads it soonest.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <tulle/formats/stats.hpp>

#include "kernels/formats.hpp"
#include "kernels/processor.hpp"

namespace tulle {

/// Bytes of x: rows around read x around the same place, what 32 neighbouring entries reach over and some more. 0 where
/// that was not sampled.
inline double x_reach(const csr_stats& s, std::size_t value_bytes) {
  constexpr double around = 4;
  return std::min(static_cast<double>(s.cols), around * s.gather_span) * static_cast<double>(value_bytes);
}

/// From how many bytes of a thread's part of the matrix, and of x, on a kernel gathers x, and up to how many of x:
/// above, they come out of memory. Read off a Zen 4 (caches of 1 and 32 MB; docs/notes/0024-choice-cpu.md).
struct gather_bounds {
  std::size_t least_streamed;
  double least_x;
  double most_x;
};
inline constexpr gather_bounds gathers_in_rows{8 << 20, 1.125 * (1 << 20), 10 << 20};
inline constexpr gather_bounds gathers_in_sell{3 << 20, 0.7 * (1 << 20), 10 << 20};
inline constexpr gather_bounds gathers_in_packed{3 << 20, 0.7 * (1 << 20), std::numeric_limits<double>::infinity()};

/// Whether a thread streams its part of a matrix from beyond the second-level cache and reads x scattered, over more
/// than what that holds beside the stream. Single loads of x hold up the stream there: gathers of 512 bits, which take
/// as long with all in caches, take 0.5 to 0.9 of their time then. Where x is read side by side from row to row the
/// loads are foreseen, and gathers are not.
inline bool scatters_beside_stream(const csr_stats& s, std::size_t matrix_bytes, int threads, std::size_t value_bytes,
                                   const gather_bounds& bounds) {
  const double bytes = x_reach(s, value_bytes);
  return matrix_bytes > static_cast<std::size_t>(threads) * bounds.least_streamed && bounds.least_x <= bytes &&
         bytes <= bounds.most_x && s.gather_sectors >= scattered_sectors;
}

/// From how many bytes of x on a processor that loads numbers one by one is asked for the matrix ahead: read scattered,
/// and read any way.
inline constexpr double least_x_asked_ahead = 0.15 * (1 << 20), always_asked_ahead = 0.8 * (1 << 20);

/// Whether a kernel that reads a matrix in slices asks for it ahead. Prefetchers of a Zen 4 follow a stream of f64
/// sooner alone, unless reads of x disturb it; in f32 they fall behind (docs/notes/0024-choice-cpu.md).
inline bool asks_ahead(const csr_stats& s, std::size_t value_bytes) {
  if (value_bytes < sizeof(double) || this_processor() != processor_class::loads) return true;
  constexpr double sectors_of_some = 18;
  const bool is_scattered = s.gather_sectors >= sectors_of_some && s.diagonal < 0.5;
  return x_reach(s, value_bytes) >= (is_scattered ? least_x_asked_ahead : always_asked_ahead);
}

/// Whether this processor reads x of such a matrix number by number rather than by gathers of 512 bits.
inline bool loads_x_singly(const csr_stats& s, std::size_t matrix_bytes, int threads, std::size_t value_bytes,
                           const gather_bounds& bounds) {
  return this_processor() == processor_class::loads &&
         !scatters_beside_stream(s, matrix_bytes, threads, value_bytes, bounds);
}

}  // namespace tulle
