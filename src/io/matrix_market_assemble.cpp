// From buckets of entries to CSR: every bucket is a range of rows, counted, placed and sorted in the cache.
#include "io/matrix_market_assemble.hpp"

#include <algorithm>
#include <concepts>
#include <utility>
#include <vector>

#include "core/instantiate.hpp"
#include "core/parallel.hpp"

namespace tulle::matrix_market {
namespace {

constexpr std::int64_t short_row = 48;

/// What is left to do after the short rows are sorted.
struct leftover {
  std::int64_t longest = 0;  // length of the longest row that is not sorted, or 0
  bool repeats = false;      // a sorted row has a column twice
};

/// Stable; for short rows. True when a column is there twice.
template <scalar T>
bool insertion_sort(index_t* colind, T* values, std::int64_t length) {
  bool repeats = false;
  for (std::int64_t k = 1; k < length; ++k) {
    const index_t col = colind[k];
    if (colind[k - 1] < col) continue;
    const T value = values[k];
    std::int64_t to = k;
    for (; to > 0 && colind[to - 1] > col; --to) {
      colind[to] = colind[to - 1];
      values[to] = values[to - 1];
    }
    repeats |= to > 0 && colind[to - 1] == col;
    colind[to] = col;
    values[to] = value;
  }
  return repeats;
}

/// Positions in the matrix where the buckets start, and the end of the last.
template <class E>
std::vector<std::int64_t> bucket_starts(const entry_list<E>& list) {
  std::vector<std::int64_t> start(list.buckets + 1, 0);
  for (std::size_t s = 0; s < list.segments.size(); ++s) {
    for (std::size_t b = 0; b < list.buckets; ++b) start[b + 1] += list.range(s, b).second - list.range(s, b).first;
  }
  for (std::size_t b = 0; b < list.buckets; ++b) start[b + 1] += start[b];
  return start;
}

/// Fills rows first .. last - 1, which are a bucket, in the order of the file: a stable sort by row. Position r + 1 of
/// rowptr counts row r, then is where its next entry goes, and in the end is where the row ends.
template <scalar T, class E>
void fill_rows(const entry_list<E>& list, std::size_t bucket, std::int64_t begin, index_t first, index_t last,
               csr<T>& a) {
  std::int64_t* next = a.rowptr.data() + 1;
  index_t* colind = a.colind.data();
  T* values = a.values.data();
  std::fill(next + first, next + last, 0);
  for (std::size_t s = 0; s < list.segments.size(); ++s) {
    const auto [from, to] = list.range(s, bucket);
    for (std::int64_t k = from; k < to; ++k) ++next[list.entries.data()[k].row];
  }
  std::int64_t position = begin;
  for (std::int64_t r = first; r < last; ++r) position += std::exchange(next[r], position);
  for (std::size_t s = 0; s < list.segments.size(); ++s) {
    const auto [from, to] = list.range(s, bucket);
    for (std::int64_t k = from; k < to; ++k) {
      const E& entry = list.entries.data()[k];
      const std::int64_t place = next[entry.row]++;
      colind[place] = entry.col;
      if constexpr (requires { entry.value; }) values[place] = entry.value;
    }
  }
  if constexpr (std::same_as<E, pattern_entry>) std::fill(values + begin, values + position, T{1});
}

/// Sorts the short rows among first .. last - 1, which start at `begin`.
template <scalar T>
leftover sort_short_rows(index_t first, index_t last, std::int64_t begin, csr<T>& a) {
  leftover left;
  for (std::int64_t r = first; r < last; ++r) {
    const std::int64_t end = a.rowptr.data()[r + 1];
    index_t* colind = a.colind.data() + begin;
    if (end - begin <= short_row) {
      left.repeats |= insertion_sort(colind, a.values.data() + begin, end - begin);
    } else if (!std::is_sorted(colind, colind + (end - begin))) {
      left.longest = std::max(left.longest, end - begin);
    } else {
      left.repeats |= std::adjacent_find(colind, colind + (end - begin)) != colind + (end - begin);
    }
    begin = end;
  }
  return left;
}

template <scalar T>
struct column_value {
  index_t col;
  T value;
};

template <scalar T>
void sort_row(index_t* colind, T* values, std::int64_t length, column_value<T>* scratch) {
  for (std::int64_t k = 0; k < length; ++k) scratch[k] = {colind[k], values[k]};
  std::stable_sort(scratch, scratch + length, [](const auto& x, const auto& y) { return x.col < y.col; });
  for (std::int64_t k = 0; k < length; ++k) {
    colind[k] = scratch[k].col;
    values[k] = scratch[k].value;
  }
}

/// Sorts what sort_short_rows left.
template <scalar T>
void sort_long_rows(const context& ctx, std::int64_t longest, csr<T>& a) {
  const auto room = static_cast<std::size_t>(longest);
  const int threads = static_cast<int>(std::clamp<std::int64_t>(a.nnz() / longest, 1, ctx.threads()));
  buffer<column_value<T>> scratch(ctx, room * static_cast<std::size_t>(threads));
  const std::int64_t* rowptr = a.rowptr.data();
  for_each_part(threads, [&](int t) {
    // The rows that start in this thread's share of the entries.
    const auto from = std::lower_bound(rowptr, rowptr + a.rows, a.nnz() * t / threads) - rowptr;
    const auto to = std::lower_bound(rowptr, rowptr + a.rows, a.nnz() * (t + 1) / threads) - rowptr;
    for (std::int64_t r = from; r < to; ++r) {
      index_t* colind = a.colind.data() + rowptr[r];
      const std::int64_t length = rowptr[r + 1] - rowptr[r];
      if (length <= short_row || std::is_sorted(colind, colind + length)) continue;
      sort_row(colind, a.values.data() + rowptr[r], length, scratch.data() + room * static_cast<std::size_t>(t));
    }
  });
}

}  // namespace

template <scalar T, class E>
csr<T> assemble_coordinates(const context& ctx, const header& h, const entry_list<E>& list, bool& repeats) {
  const std::vector<std::int64_t> start = bucket_starts(list);
  const auto nnz = static_cast<std::size_t>(start.back());
  csr<T> a{h.rows, h.cols, buffer<std::int64_t>(ctx, static_cast<std::size_t>(h.rows) + 1), buffer<index_t>(ctx, nnz),
           buffer<T>(ctx, nnz)};
  a.rowptr.data()[0] = 0;
  const auto row = [&](std::size_t bucket) {
    return static_cast<index_t>(std::min(static_cast<std::int64_t>(bucket) << list.shift, std::int64_t{h.rows}));
  };
  const auto assemble_bucket = [&](std::size_t b, leftover& all) {
    fill_rows(list, b, start[b], row(b), row(b + 1), a);
    const leftover left = sort_short_rows(row(b), row(b + 1), start[b], a);
    all = {std::max(all.longest, left.longest), all.repeats || left.repeats};
  };
  const auto [longest, twice] =
      parallel_reduce(threads_for(ctx.threads(), h.rows + start.back()), list.buckets, 1, leftover{}, assemble_bucket,
                      [](leftover& all, const leftover& mine) {
                        all = {std::max(all.longest, mine.longest), all.repeats || mine.repeats};
                      });
  if (longest > 0) sort_long_rows(ctx, longest, a);
  repeats = twice || longest > 0;
  return a;
}

#define TULLE_INSTANTIATE(T)                                                                           \
  template csr<T> assemble_coordinates<T, valued_entry<T>>(const context&, const header&,              \
                                                           const entry_list<valued_entry<T>>&, bool&); \
  template csr<T> assemble_coordinates<T, pattern_entry>(const context&, const header&,                \
                                                         const entry_list<pattern_entry>&, bool&);
TULLE_FOR_EACH_VALUE(TULLE_INSTANTIATE)
TULLE_FOR_EACH_FURTHER_READ(TULLE_INSTANTIATE)

}  // namespace tulle::matrix_market
