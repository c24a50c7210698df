// Entries in file order to CSR: a stable parallel counting sort by row, then every row by column.
#include "io/matrix_market_assemble.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "core/instantiate.hpp"

namespace tulle::matrix_market {
namespace {

/// Calls f(row, col, value) for every entry of some segments in order, its mirror image right after it, and
/// prefetch(row) for rows that will come soon: rows come in any order, and waiting for each would be most of the time.
template <mm_symmetry Symmetry, scalar T, class F, class P>
void for_each_entry(const entry_list<T>& entries, std::span<const segment> segments, F f, P prefetch) {
  constexpr std::int64_t ahead = 16;
  const index_t* row = entries.row.data();
  const index_t* col = entries.col.data();
  const T* value = entries.value.data();
  for (const segment& s : segments) {
    for (std::int64_t k = s.first; k < s.first + s.count; ++k) {
      if (k + ahead < s.first + s.count) prefetch(row[k + ahead]);
      const T v = value == nullptr ? T{1} : value[k];
      f(row[k], col[k], v);
      if constexpr (Symmetry != mm_symmetry::general) {
        if (row[k] != col[k]) f(col[k], row[k], Symmetry == mm_symmetry::skew_symmetric ? -v : v);
      }
    }
  }
}

/// Segments dealt out in order to groups that sort side by side. Every group counts every row, so there are no more
/// groups than the mean row has entries.
class groups {
 public:
  groups(const context& ctx, const header& h, std::span<const segment> segments) : segments_(segments) {
    const std::int64_t dense = h.entries / std::max<std::int64_t>(h.rows, 1) + 1;
    count_ = static_cast<int>(std::clamp<std::int64_t>(dense, 1, ctx.threads()));
  }
  [[nodiscard]] int count() const noexcept { return count_; }
  [[nodiscard]] std::span<const segment> operator[](int g) const noexcept {
    const auto at = [&](int i) { return segments_.size() * static_cast<std::size_t>(i) / static_cast<std::size_t>(count_); };
    return segments_.subspan(at(g), at(g + 1) - at(g));
  }

 private:
  std::span<const segment> segments_;
  int count_ = 1;
};

/// Turns the counts of every group and row into the positions where they start: rows in order, groups in order
/// within a row. Returns the sum of all.
std::int64_t counts_to_positions(const context& ctx, index_t rows, const std::vector<std::int64_t*>& counts) {
  const int blocks = ctx.threads();
  std::vector<std::int64_t> start(static_cast<std::size_t>(blocks) + 1, 0);
  const auto first_row = [&](int b) { return static_cast<std::int64_t>(rows) * b / blocks; };
#pragma omp parallel for num_threads(blocks)
  for (int b = 0; b < blocks; ++b) {
    std::int64_t sum = 0;
    for (const std::int64_t* count : counts) {
      for (std::int64_t r = first_row(b); r < first_row(b + 1); ++r) sum += count[r];
    }
    start[static_cast<std::size_t>(b) + 1] = sum;
  }
  for (std::size_t b = 1; b < start.size(); ++b) start[b] += start[b - 1];
#pragma omp parallel for num_threads(blocks)
  for (int b = 0; b < blocks; ++b) {
    std::int64_t position = start[static_cast<std::size_t>(b)];
    for (std::int64_t r = first_row(b); r < first_row(b + 1); ++r) {
      for (std::int64_t* count : counts) position += std::exchange(count[r], position);
    }
  }
  return start.back();
}

template <scalar T, mm_symmetry Symmetry>
csr<T> sort_by_row(const context& ctx, const header& h, const entry_list<T>& entries) {
  csr<T> a{h.rows, h.cols, buffer<std::int64_t>(ctx, static_cast<std::size_t>(h.rows) + 1), {}, {}};
  const groups parts(ctx, h, entries.segments);
  // The last group's positions live in rowptr itself, one row ahead: once it has placed its entries they are the ends
  // of the rows, which is what rowptr must hold.
  buffer<std::int64_t> other(ctx, static_cast<std::size_t>(parts.count() - 1) * static_cast<std::size_t>(h.rows));
  std::vector<std::int64_t*> position;
  for (int g = 0; g + 1 < parts.count(); ++g) position.push_back(other.data() + static_cast<std::int64_t>(g) * h.rows);
  position.push_back(a.rowptr.data() + 1);
  a.rowptr.data()[0] = 0;

#pragma omp parallel for num_threads(parts.count())
  for (int g = 0; g < parts.count(); ++g) {
    std::int64_t* count = position[static_cast<std::size_t>(g)];
    std::fill_n(count, h.rows, 0);
    for_each_entry<Symmetry>(entries, parts[g], [&](index_t row, index_t, T) { ++count[row]; }, [](index_t) {});
  }
  const auto nnz = static_cast<std::size_t>(counts_to_positions(ctx, h.rows, position));
  a.colind = buffer<index_t>(ctx, nnz);
  a.values = buffer<T>(ctx, nnz);
#pragma omp parallel for num_threads(parts.count())
  for (int g = 0; g < parts.count(); ++g) {
    std::int64_t* next = position[static_cast<std::size_t>(g)];
    index_t* colind = a.colind.data();
    T* values = a.values.data();
    const auto place = [=](index_t row, index_t col, T value) {
      const std::int64_t to = next[row]++;
      colind[to] = col;
      values[to] = value;
    };
    const auto prefetch = [=](index_t row) {
      __builtin_prefetch(colind + next[row], 1);
      __builtin_prefetch(values + next[row], 1);
    };
    for_each_entry<Symmetry>(entries, parts[g], place, prefetch);
  }
  return a;
}

template <scalar T>
struct column_value {
  index_t col;
  T value;
};

/// Length of the longest row whose columns descend somewhere; 0 when all are sorted.
template <scalar T>
std::int64_t longest_unsorted_row(const context& ctx, const csr<T>& a) {
  const std::int64_t* rowptr = a.rowptr.data();
  const index_t* colind = a.colind.data();
  std::int64_t longest = 0;
#pragma omp parallel for schedule(dynamic, 4096) num_threads(ctx.threads()) reduction(max : longest)
  for (std::int64_t r = 0; r < a.rows; ++r) {
    if (!std::is_sorted(colind + rowptr[r], colind + rowptr[r + 1])) longest = std::max(longest, rowptr[r + 1] - rowptr[r]);
  }
  return longest;
}

template <scalar T>
void sort_row(index_t* colind, T* values, std::int64_t length, column_value<T>* scratch) {
  for (std::int64_t k = 0; k < length; ++k) scratch[k] = {colind[k], values[k]};
  std::stable_sort(scratch, scratch + length, [](const auto& x, const auto& y) { return x.col < y.col; });
  for (std::int64_t k = 0; k < length; ++k) {
    colind[k] = scratch[k].col;
    values[k] = scratch[k].value;
  }
}

template <scalar T>
void sort_rows(const context& ctx, csr<T>& a) {
  const std::int64_t longest = longest_unsorted_row(ctx, a);
  if (longest == 0) return;
  const auto room = static_cast<std::size_t>(longest);
  const int threads = static_cast<int>(std::clamp<std::int64_t>(a.nnz() / longest, 1, ctx.threads()));
  buffer<column_value<T>> scratch(ctx, room * static_cast<std::size_t>(threads));
  const std::int64_t* rowptr = a.rowptr.data();
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int t = 0; t < threads; ++t) {
    // Rows of this thread: those that start in its share of the entries.
    const auto from = std::lower_bound(rowptr, rowptr + a.rows, a.nnz() * t / threads) - rowptr;
    const auto to = std::lower_bound(rowptr, rowptr + a.rows, a.nnz() * (t + 1) / threads) - rowptr;
    for (std::int64_t r = from; r < to; ++r) {
      index_t* colind = a.colind.data() + rowptr[r];
      const std::int64_t length = rowptr[r + 1] - rowptr[r];
      if (std::is_sorted(colind, colind + length)) continue;
      sort_row(colind, a.values.data() + rowptr[r], length, scratch.data() + room * static_cast<std::size_t>(t));
    }
  }
}

}  // namespace

template <scalar T>
csr<T> assemble_coordinates(const context& ctx, const header& h, const entry_list<T>& entries) {
  csr<T> a = h.symmetry == mm_symmetry::general     ? sort_by_row<T, mm_symmetry::general>(ctx, h, entries)
             : h.symmetry == mm_symmetry::symmetric ? sort_by_row<T, mm_symmetry::symmetric>(ctx, h, entries)
                                                    : sort_by_row<T, mm_symmetry::skew_symmetric>(ctx, h, entries);
  sort_rows(ctx, a);
  return a;
}

#define TULLE_INSTANTIATE(T) \
  template csr<T> assemble_coordinates<T>(const context&, const header&, const entry_list<T>&);
TULLE_FOR_EACH_VALUE(TULLE_INSTANTIATE)
#undef TULLE_INSTANTIATE

}  // namespace tulle::matrix_market
