// Vectors on the CPU are cut into at most 512 parts that depend on their size alone; a thread takes neighbouring parts.
// Sums: a part's in f64 by 8 running sums, the parts' in order, so the result is the same for any number of threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/parallel.hpp"

namespace tulle::cpu {

inline constexpr std::int64_t most_vector_parts = 512;
inline constexpr std::int64_t least_vector_part = 4096;  // elements
inline constexpr std::int64_t vector_piece = 1024;       // elements that are still in the L1 when their sums are made

/// Calls f(part, begin, end) for parts of 0 .. n - 1 and returns how many there are.
template <class F>
std::int64_t for_vector_parts(const context& ctx, std::int64_t n, const F& f) {
  const std::int64_t length = std::max(least_vector_part, (n + most_vector_parts - 1) / most_vector_parts);
  const std::int64_t parts = (n + length - 1) / length;
  const int threads = static_cast<int>(std::clamp<std::int64_t>(parts, 1, ctx.threads()));
  parallel_for(threads, parts, [&](std::int64_t part) { f(part, part * length, std::min(n, (part + 1) * length)); });
  return parts;
}

/// Of begin .. end - 1.
template <class T>
double part_dot(const T* x, const T* y, std::int64_t begin, std::int64_t end) {
  constexpr int lanes = 8;
  double sums[lanes] = {};
  std::int64_t i = begin;
  for (; i + lanes <= end; i += lanes) {
    for (int l = 0; l < lanes; ++l) sums[l] += static_cast<double>(x[i + l]) * static_cast<double>(y[i + l]);
  }
  for (; i < end; ++i) sums[0] += static_cast<double>(x[i]) * static_cast<double>(y[i]);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

}  // namespace tulle::cpu
