// Rows cut between parts of equal work: what a part leaves behind, and the one place where the pieces are added.
#pragma once

#include <algorithm>
#include <span>
#include <tulle/formats/views.hpp>
#include <vector>

#include "cpu/spmv/arithmetic.hpp"
#include "cpu/spmv/merge_path.hpp"

namespace tulle::cpu {

/// The share of one thread: the rows [first, last) end in it. Its first row may have begun in an earlier part
/// (`continues`), and row `last` may begin in it and end in a later one.
struct part_range {
  index_t first = 0;
  index_t last = 0;
  std::int64_t begin = 0;  // entries [begin, end)
  std::int64_t end = 0;
  bool continues = false;
};

/// And the sums of the rows that are cut, in a cache line of its own.
template <scalar T>
struct alignas(64) part : part_range {
  sum_of<T> head = 0;  // of row `first`, if it continues and ends here
  sum_of<T> tail = 0;  // of row `last`
};

/// Rows of no more entries are not cut, so that their sums do not depend on the number of parts; it is no more than a
/// quarter of the least work of a part.
inline constexpr std::int64_t longest_whole_row = 1024;

/// Part `i` of `parts` of equal work (rows + nonzeros).
template <scalar T, offset O>
part_range merge_path_part(csr_view<T, O> a, int i, int parts) {
  const auto row_end = [&](index_t row) -> std::int64_t { return a.rowptr[row + 1]; };
  const auto cut = [&](int part) {
    merge_coordinate at = merge_path_split(part, parts, a.rows, a.nnz, row_end);
    if (part < parts && at.row < a.rows && row_end(at.row) - a.rowptr[at.row] <= longest_whole_row) {
      at.entry = a.rowptr[at.row];
    }
    return at;
  };
  const merge_coordinate begin = cut(i), end = cut(i + 1);
  return {begin.row, end.row, begin.entry, end.entry, begin.row < a.rows && begin.entry > a.rowptr[begin.row]};
}

/// Where each of `parts` parts of about equally many slots begins among `count` items, item i of which has the slots
/// [offsets[i], offsets[i + 1]); and `count`.
template <class O>
std::vector<index_t> equal_shares(const O* offsets, index_t count, int parts) {
  std::vector<index_t> begin(static_cast<std::size_t>(parts) + 1, 0);
  for (std::size_t i = 1; i + 1 < begin.size(); ++i) {
    const auto target = static_cast<O>(static_cast<double>(offsets[count]) * i / parts);
    begin[i] = static_cast<index_t>(std::lower_bound(offsets, offsets + count, target) - offsets);
  }
  begin.back() = count;
  return begin;
}

/// Adds the pieces of cut rows in the order of the parts, and hands their sums to `out`: the same bits in every run.
template <scalar T, class Finish>
void join(std::span<const part<T>> parts, Finish& out) {
  sum_of<T> sum = 0;
  for (const part<T>& p : parts) {
    const bool ends_row = p.last > p.first;
    if (ends_row && p.continues) out(p.first, static_cast<sum_of<T>>(sum + p.head));
    sum = ends_row ? p.tail : sum + p.tail;
  }
}

}  // namespace tulle::cpu
