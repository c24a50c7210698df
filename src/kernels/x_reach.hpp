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

/// Most bytes of x beside which a product from CSR or `sell` gathers: above, they come out of memory.
inline constexpr double most_gathered_beside_stream = 10 << 20;

/// Whether a thread streams its part of a matrix out of memory and reads x scattered, past the second-level cache. Single
/// loads of x hold up the stream there: gathers of 512 bits, which take as long with all in caches, take 0.5 to 0.9 of
/// their time then (Zen 4, caches of 1 and 32 MB; docs/notes/0024-choice-cpu.md). Where x is read side by side from row to
/// row the loads are foreseen, and gathers are not.
inline bool scatters_beside_stream(const csr_stats& s, std::size_t matrix_bytes, int threads, std::size_t value_bytes,
                                   double most = std::numeric_limits<double>::infinity()) {
  constexpr std::size_t least_streamed = 8 << 20;
  constexpr double least = 1.125 * (1 << 20);
  const double bytes = x_reach(s, value_bytes);
  return matrix_bytes > static_cast<std::size_t>(threads) * least_streamed && least <= bytes && bytes <= most &&
         s.gather_sectors >= scattered_sectors;
}

/// Whether this processor reads x of such a matrix number by number rather than by gathers of 512 bits.
inline bool loads_x_singly(const csr_stats& s, std::size_t matrix_bytes, int threads, std::size_t value_bytes,
                           double most = std::numeric_limits<double>::infinity()) {
  return this_processor() == processor_class::loads &&
         !scatters_beside_stream(s, matrix_bytes, threads, value_bytes, most);
}

}  // namespace tulle
