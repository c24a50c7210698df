// OpenMP building blocks whose results do not depend on the number of threads.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <tulle/core/buffer.hpp>
#include <tulle/core/context.hpp>
#include <tulle/core/types.hpp>
#include <vector>

#include "core/partition_point.hpp"

namespace tulle {

/// Rows begin .. end - 1.
struct row_range {
  index_t begin;
  index_t end;
};

/// Part `part` of `parts`, cut so that every part has about the same number of rows plus entries.
template <offset O>
row_range balanced_rows(index_t rows, const O* rowptr, int part, int parts) {
  const std::int64_t work = static_cast<std::int64_t>(rowptr[rows]) + rows;
  const auto cut = [&](int p) {
    if (p == parts) return rows;
    const std::int64_t target = work / parts * p + work % parts * p / parts;
    const auto before = [&](index_t r) { return static_cast<std::int64_t>(rowptr[r]) + r < target; };
    return partition_point(index_t{0}, rows, before);
  };
  return {cut(part), cut(part + 1)};
}

/// Calls f(begin, end) for ranges of rows that have about equal work, one range per thread. The ranges cover all rows.
template <offset O, class F>
void parallel_rows(int threads, index_t rows, const O* rowptr, F f) {
#pragma omp parallel num_threads(threads)
  {
    const row_range mine = balanced_rows(rows, rowptr, omp_get_thread_num(), omp_get_num_threads());
    if (mine.begin < mine.end) f(mine.begin, mine.end);
  }
}

/// Counts to offsets, in place: offsets[i + 1] holds the count of i on entry; offsets[0] becomes 0 and offsets[i + 1]
/// the sum of the counts of 0 .. i. `offsets` has n + 1 elements.
template <class O>
void scan_counts(int threads, O* offsets, std::int64_t n) {
  offsets[0] = 0;
  constexpr std::int64_t serial_below = 1 << 15;
  if (threads == 1 || n < serial_below) {
    for (std::int64_t i = 1; i <= n; ++i) offsets[i] += offsets[i - 1];
    return;
  }
  std::vector<O> sums(static_cast<std::size_t>(threads) + 1, O{0});
  const auto first = [&](int part) { return 1 + n / threads * part + n % threads * part / threads; };
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < threads; ++part) {
    O sum = 0;
    const std::int64_t end = first(part + 1);
    for (std::int64_t i = first(part); i < end; ++i) sum += offsets[i];
    sums[part + 1] = sum;
  }
  for (int part = 0; part < threads; ++part) sums[part + 1] += sums[part];
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < threads; ++part) {
    O sum = sums[part];
    const std::int64_t end = first(part + 1);
    for (std::int64_t i = first(part); i < end; ++i) offsets[i] = sum += offsets[i];
  }
}

/// Stable counting sort of entries 0 .. n - 1 by key(k) in 0 .. buckets - 1. Calls place(begin, end, next) for ranges
/// of entries; `place` must go through its range in order and put entry k at position next(key(k)). Returns the
/// offsets of the buckets (buckets + 1). Uses as many histograms as fit in about n offsets.
template <offset O, class Key, class Place>
buffer<O> counting_sort(const context& ctx, std::int64_t n, index_t buckets, Key key, Place place) {
  const int threads = ctx.threads();
  const std::int64_t most = n / std::max<std::int64_t>(buckets, 1);
  const int parts = static_cast<int>(std::clamp<std::int64_t>(most, 1, threads));
  const auto first = [&](int part) { return n / parts * part + n % parts * part / parts; };
  buffer<O> offsets(ctx, static_cast<std::size_t>(buckets) + 1);
  buffer<O> counts(ctx, static_cast<std::size_t>(buckets) * parts);
  const auto histogram = [&](int part) { return counts.data() + static_cast<std::int64_t>(buckets) * part; };

#pragma omp parallel for num_threads(parts) schedule(static, 1)
  for (int part = 0; part < parts; ++part) {
    O* count = histogram(part);
    std::fill_n(count, buckets, O{0});
    for (std::int64_t k = first(part); k < first(part + 1); ++k) ++count[key(k)];
  }
  O* total = offsets.data();
#pragma omp parallel for num_threads(threads) schedule(static)
  for (index_t b = 0; b < buckets; ++b) {
    O sum = 0;
    for (int part = 0; part < parts; ++part) {
      const O mine = histogram(part)[b];
      histogram(part)[b] = sum;
      sum += mine;
    }
    total[b + 1] = sum;
  }
  scan_counts(threads, total, buckets);
#pragma omp parallel for num_threads(parts) schedule(static, 1)
  for (int part = 0; part < parts; ++part) {
    O* before = histogram(part);
    place(first(part), first(part + 1), [&](index_t b) { return total[b] + before[b]++; });
  }
  return offsets;
}

}  // namespace tulle
