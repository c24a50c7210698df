// Parallel loops and what is built of them. Their results do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstdint>
#include <mutex>
#include <tulle/core/buffer.hpp>
#include <tulle/core/context.hpp>
#include <tulle/core/types.hpp>
#include <vector>

#include "core/interruption_point.hpp"
#include "core/partition_point.hpp"
#include "core/workers.hpp"

namespace tulle {

/// As many threads, `most` at most, as so much work is worth. Work: rows and entries that are read, say. Waking a
/// thread takes as long as a few thousand of them.
inline int threads_for(int most, std::int64_t work, std::int64_t least_of_a_thread = 1 << 13) {
  return static_cast<int>(std::clamp<std::int64_t>(work / least_of_a_thread, 1, most));
}
/// The same for one pass over a matrix.
template <class Matrix>
requires requires(const Matrix& a) { a.rows + a.nnz; }
int threads_for(const context& ctx, const Matrix& a) {
  return threads_for(ctx.threads(), std::int64_t{a.rows} + static_cast<std::int64_t>(a.nnz));
}

/// The same for a product with a matrix, whose threads are mostly awake: handing a part over and waiting for its end takes
/// about a microsecond, as some 2000 entries do. Note 0014 has the measurements.
inline int threads_for_product(int most, std::int64_t work) { return threads_for(most, work, 1 << 12); }
/// The same with so many vectors at once, of so many bytes a number: an entry takes 1 + columns * bytes / 48 times as long
/// as with one, and what handing over costs is small enough for a thread from 2048 of those on (note 0026).
inline int threads_for_products(int most, std::int64_t work, index_t columns, std::size_t value_bytes) {
  const double longer = 1 + static_cast<double>(columns) * static_cast<double>(value_bytes) / 48;
  return threads_for(most, static_cast<std::int64_t>(static_cast<double>(work) * longer), 1 << 11);
}
template <class Matrix>
requires requires(const Matrix& a) { a.rows + a.nnz; }
int threads_for_product(const context& ctx, const Matrix& a) {
  return threads_for_product(ctx.threads(), std::int64_t{a.rows} + static_cast<std::int64_t>(a.nnz));
}

/// Calls f(i) for i = 0 .. n - 1: an equal number of neighbours on each thread.
template <std::integral I, class F>
void parallel_for(int threads, I n, const F& f) {
  const int parts = static_cast<int>(std::clamp<std::int64_t>(n, 1, threads));
  for_each_part(parts, [&](int part) {
    const auto first = [&](int p) { return static_cast<I>(n / parts * p + n % parts * p / parts); };
    const I end = first(part + 1);
    for (I i = first(part); i < end; ++i) f(i);
  });
}

/// Calls f(part, next) once per part; next(each) calls each(i) for those of 0 .. n - 1 that this part gets, `chunk`
/// neighbours at a time on whichever thread is free. A call that is to end early (tulle/core/interruption.hpp) does so
/// between two chunks.
template <std::integral I, class F>
void parallel_chunks(int threads, I n, std::int64_t chunk, const F& f) {
  const std::int64_t all = n, chunks = all / chunk + 1;
  std::atomic<std::int64_t> taken = 0;
  const interruption_point end_early;
  for_each_part(static_cast<int>(std::clamp<std::int64_t>(chunks, 1, threads)), [&](int part) {
    f(part, [&](auto&& each) {
      // What is taken is done, also where the rest is not: another part may wait for it.
      for (std::int64_t begin; !end_early.is_over() && (begin = taken.fetch_add(chunk, std::memory_order_relaxed)) < all;) {
        const I end = static_cast<I>(std::min(begin + chunk, all));
        for (auto i = static_cast<I>(begin); i < end; ++i) each(i);
      }
    });
  });
}
template <std::integral I, class F>
void parallel_for(int threads, I n, std::int64_t chunk, const F& f) {
  parallel_chunks(threads, n, chunk, [&](int, auto next) { next(f); });
}

/// Every part adds to an R of its own, which begins as `zero`, by f(i, R&), `chunk` neighbours at a time; join(R&,
/// const R&) puts them together, in any order.
template <class R, std::integral I, class F, class Join>
R parallel_reduce(int threads, I n, std::int64_t chunk, const R& zero, const F& f, const Join& join) {
  R all = zero;
  std::mutex lock;
  parallel_chunks(threads, n, chunk, [&](int, auto next) {
    R mine = zero;
    next([&](I i) { f(i, mine); });
    const std::scoped_lock hold(lock);
    join(all, mine);
  });
  return all;
}
/// Whether f(i) is true of all i; it is called for each.
template <std::integral I, class F>
bool parallel_all(int threads, I n, std::int64_t chunk, const F& f) {
  return parallel_reduce(
      threads, n, chunk, true, [&](I i, bool& all) { all = f(i) && all; },
      [](bool& all, bool mine) { all = all && mine; });
}

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
  for_each_part(threads, [&](int part) {
    const row_range mine = balanced_rows(rows, rowptr, part, threads);
    if (mine.begin < mine.end) f(mine.begin, mine.end);
  });
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
  for_each_part(threads, [&](int part) {
    O sum = 0;
    const std::int64_t end = first(part + 1);
    for (std::int64_t i = first(part); i < end; ++i) sum += offsets[i];
    sums[part + 1] = sum;
  });
  for (int part = 0; part < threads; ++part) sums[part + 1] += sums[part];
  for_each_part(threads, [&](int part) {
    O sum = sums[part];
    const std::int64_t end = first(part + 1);
    for (std::int64_t i = first(part); i < end; ++i) offsets[i] = sum += offsets[i];
  });
}

/// Stable counting sort of entries 0 .. n - 1 by key(k) in 0 .. buckets - 1. Calls place(begin, end, next) for ranges
/// of entries; `place` must go through its range in order and put entry k at position next(key(k)). Returns the
/// offsets of the buckets (buckets + 1). Uses as many histograms as fit in about n offsets.
template <offset O, class Key, class Place>
buffer<O> counting_sort(const context& ctx, std::int64_t n, index_t buckets, Key key, Place place) {
  const int threads = threads_for(ctx.threads(), n + buckets);
  const std::int64_t most = n / std::max<std::int64_t>(buckets, 1);
  const int parts = static_cast<int>(std::clamp<std::int64_t>(most, 1, threads));
  const auto first = [&](int part) { return n / parts * part + n % parts * part / parts; };
  buffer<O> offsets(ctx, static_cast<std::size_t>(buckets) + 1);
  buffer<O> counts(ctx, static_cast<std::size_t>(buckets) * parts);
  const auto histogram = [&](int part) { return counts.data() + static_cast<std::int64_t>(buckets) * part; };

  for_each_part(parts, [&](int part) {
    O* count = histogram(part);
    std::fill_n(count, buckets, O{0});
    const std::int64_t end = first(part + 1);  // not in the loop: two divisions per entry
    for (std::int64_t k = first(part); k < end; ++k) ++count[key(k)];
  });
  O* total = offsets.data();
  parallel_for(threads, buckets, [&](index_t b) {
    O sum = 0;
    for (int part = 0; part < parts; ++part) {
      const O mine = histogram(part)[b];
      histogram(part)[b] = sum;
      sum += mine;
    }
    total[b + 1] = sum;
  });
  scan_counts(threads, total, buckets);
  parallel_for(threads, buckets, [&](index_t b) {
    for (int part = 0; part < parts; ++part) histogram(part)[b] += total[b];
  });
  for_each_part(parts, [&](int part) {
    O* at = histogram(part);
    place(first(part), first(part + 1), [at](index_t b) { return at[b]++; });
  });
  return offsets;
}

}  // namespace tulle
