// Rows cut between parts of equal work: what a part leaves behind, and the one place where the pieces are added.
#pragma once

#include <span>

#include "cpu/spmv/arithmetic.hpp"

namespace tulle::cpu {

/// The share of one thread, one cache line each: the rows [first, last) end in it. Its first row may have begun in an
/// earlier part (`continues`), and row `last` may begin in it and end in a later one.
template <scalar T>
struct alignas(64) part {
  index_t first = 0;
  index_t last = 0;
  std::int64_t begin = 0;  // entries [begin, end)
  std::int64_t end = 0;
  bool continues = false;
  sum_of<T> head = 0;  // of row `first`, if it continues and ends here
  sum_of<T> tail = 0;  // of row `last`
};

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
