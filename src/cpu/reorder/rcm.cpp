// Reverse Cuthill-McKee of a symmetric pattern, component by component (kernels/reorder.hpp says which order it is).
//
// A vertex costs one visit of each neighbour's byte. Parts of a wide level go to threads: each takes the children it
// finds, the part of the earlier parents wins, and what was lost is left out afterwards.
#include <algorithm>
#include <atomic>
#include <limits>
#include <vector>

#include "cpu/reorder/reorder.hpp"

namespace tulle::cpu {
namespace {

/// `mark` of a vertex, from high to low: not seen yet, then for every sweep one for each part that may hold it and one
/// for good. Thus a sweep needs not clear what the one before it wrote.
using mark = std::uint8_t;
constexpr int most_parts = 31;
constexpr int marks_per_sweep = most_parts + 1;
constexpr mark unseen = std::numeric_limits<mark>::max();
static_assert(rcm_sweeps * marks_per_sweep < unseen);
/// Parents whose children a part looks for, at least: waking a thread takes as long.
constexpr index_t parents_per_part = 512;

template <offset O>
struct graph {
  index_t n;
  const O* rowptr;
  const index_t* colind;
  const index_t* degree;

  [[nodiscard]] bool before(index_t a, index_t b) const {
    return degree[a] != degree[b] ? degree[a] < degree[b] : a < b;
  }
  [[nodiscard]] index_t least() const { return static_cast<index_t>(std::min_element(degree, degree + n) - degree); }
};

/// Columns ascend, so by degree alone; few children are the rule.
template <offset O>
void sort_children(const graph<O>& g, index_t* first, index_t* last) {
  if (last - first > 32) {
    std::sort(first, last, [&](index_t a, index_t b) { return g.before(a, b); });
    return;
  }
  for (index_t* at = first + 1; at < last; ++at) {
    const index_t child = *at;
    index_t* to = at;
    for (; to > first && g.degree[to[-1]] > g.degree[child]; --to) *to = to[-1];
    *to = child;
  }
}

/// What one part of a level found: children in order, and where those of each parent end.
struct part_of_level {
  std::vector<index_t> children;
  std::vector<index_t> ends;
  index_t reach = 0;  // the greatest (place of a child in `children`) - (place of its parent in the part)
};

/// A component numbered once.
struct rcm_sweep {
  index_t size = 0;
  index_t levels = 0;
  index_t last_level = 0;  // where its first vertex is
  index_t bandwidth = 0;
};

template <offset O>
class rcm_sweeper {
 public:
  rcm_sweeper(const context& ctx, const graph<O>& g, mark* marks)
      : g_(g),
        marks_(marks),
        threads_(std::min(ctx.threads(), most_parts)),
        parts_(static_cast<std::size_t>(threads_)) {}

  /// Numbers the component of `start` into `out`, which has room for what was not seen yet.
  rcm_sweep run(index_t start, int sweep, index_t* out) {
    settled_ = static_cast<mark>((rcm_sweeps - 1 - sweep) * marks_per_sweep);
    out_ = out;
    found_ = {};
    out[0] = start;
    marks_[start] = settled_;
    index_t begin = 0, end = 1;
    while (begin < end) {
      found_.last_level = begin;
      ++found_.levels;
      const int parts = threads_for(threads_, end - begin, parents_per_part);
      const index_t next = parts > 1 ? expand_in_parts(begin, end, parts) : expand(begin, end);
      begin = end;
      end = next;
    }
    found_.size = end;
    return found_;
  }

 private:
  index_t expand(index_t begin, index_t end) {
    index_t to = end;
    for (index_t p = begin; p < end; ++p) {
      const index_t first = to;
      const O last = g_.rowptr[out_[p] + 1];
      for (O k = g_.rowptr[out_[p]]; k < last; ++k) {
        const index_t j = g_.colind[k];
        if (marks_[j] <= settled_) continue;
        marks_[j] = settled_;
        out_[to++] = j;
      }
      if (to == first) continue;
      sort_children(g_, out_ + first, out_ + to);
      found_.bandwidth = std::max(found_.bandwidth, to - 1 - p);
    }
    return to;
  }

  index_t expand_in_parts(index_t begin, index_t end, int parts) {
    const auto cut = [&](int part) { return static_cast<index_t>(begin + (std::int64_t{end} - begin) * part / parts); };
    for_each_part(parts, [&](int part) { claim(part, cut(part), cut(part + 1)); });
    for_each_part(parts, [&](int part) { keep(part); });
    index_t to = end;
    for (int part = 0; part < parts; ++part) {
      const part_of_level& mine = parts_[static_cast<std::size_t>(part)];
      if (mine.children.empty()) continue;
      found_.bandwidth = std::max(found_.bandwidth, to - cut(part) + mine.reach);
      to = static_cast<index_t>(std::copy(mine.children.begin(), mine.children.end(), out_ + to) - out_);
    }
    return to;
  }

  /// The children of the parents out[begin .. end - 1], but for those that an earlier part holds by now.
  void claim(int part, index_t begin, index_t end) {
    part_of_level& mine = parts_[static_cast<std::size_t>(part)];
    const auto holder = static_cast<mark>(settled_ + 1 + part);
    mine.children.clear();
    mine.ends.clear();
    for (index_t p = begin; p < end; ++p) {
      const std::size_t first = mine.children.size();
      const O last = g_.rowptr[out_[p] + 1];
      for (O k = g_.rowptr[out_[p]]; k < last; ++k) {
        const std::atomic_ref<mark> held(marks_[g_.colind[k]]);
        mark now = held.load(std::memory_order_relaxed);
        while (now > holder && !held.compare_exchange_weak(now, holder, std::memory_order_relaxed)) {
        }
        if (now > holder) mine.children.push_back(g_.colind[k]);
      }
      sort_children(g_, mine.children.data() + first, mine.children.data() + mine.children.size());
      mine.ends.push_back(static_cast<index_t>(mine.children.size()));
    }
  }

  /// Leaves out the children that an earlier part took over.
  void keep(int part) {
    part_of_level& mine = parts_[static_cast<std::size_t>(part)];
    const auto holder = static_cast<mark>(settled_ + 1 + part);
    index_t from = 0, to = 0;
    mine.reach = std::numeric_limits<index_t>::min();
    for (index_t p = 0; p < static_cast<index_t>(mine.ends.size()); ++p) {
      const index_t first = to;
      for (; from < mine.ends[static_cast<std::size_t>(p)]; ++from) {
        const index_t child = mine.children[static_cast<std::size_t>(from)];
        const std::atomic_ref<mark> held(marks_[child]);
        if (held.load(std::memory_order_relaxed) != holder) continue;
        held.store(settled_, std::memory_order_relaxed);
        mine.children[static_cast<std::size_t>(to++)] = child;
      }
      if (to > first) mine.reach = std::max(mine.reach, to - 1 - p);
    }
    mine.children.resize(static_cast<std::size_t>(to));
  }

  const graph<O>& g_;
  mark* marks_;
  int threads_;
  std::vector<part_of_level> parts_;
  index_t* out_ = nullptr;
  mark settled_ = 0;
  rcm_sweep found_;
};

template <offset O>
buffer<index_t> degrees(const context& ctx, const matrix_ref& a, const O* rowptr) {
  buffer<index_t> degree(ctx, static_cast<std::size_t>(a.rows));
  parallel_rows(threads_for(ctx, a), a.rows, rowptr, [&, to = degree.data()](index_t begin, index_t end) {
    for (index_t i = begin; i < end; ++i) {
      const index_t* const first = a.colind + rowptr[i];
      const index_t* const last = a.colind + rowptr[i + 1];
      const bool has_diagonal = std::binary_search(first, last, i);
      to[i] = static_cast<index_t>(last - first) - (has_diagonal ? 1 : 0);
    }
  });
  return degree;
}

/// All vertices in ascending order of (degree, number).
template <offset O>
buffer<index_t> by_degree(const context& ctx, const graph<O>& g) {
  buffer<index_t> sorted(ctx, static_cast<std::size_t>(g.n));
  const index_t most = g.n == 0 ? 0 : *std::max_element(g.degree, g.degree + g.n);
  const auto key = [&](std::int64_t i) { return g.degree[i]; };
  counting_sort<std::int32_t>(ctx, g.n, most + 1, key, [&](std::int64_t begin, std::int64_t end, auto next) {
    for (std::int64_t i = begin; i < end; ++i) sorted.data()[next(g.degree[i])] = static_cast<index_t>(i);
  });
  return sorted;
}

template <offset O>
void rcm_typed(const context& ctx, const matrix_ref& a, index_t* order) {
  const auto* rowptr = static_cast<const O*>(a.rowptr);
  const buffer<index_t> degree = degrees(ctx, a, rowptr);
  const graph<O> g{a.rows, rowptr, a.colind, degree.data()};
  buffer<mark> marks(ctx, static_cast<std::size_t>(g.n));
  std::fill_n(marks.data(), g.n, unseen);
  rcm_sweeper<O> sweeper(ctx, g, marks.data());
  buffer<index_t> other(ctx, static_cast<std::size_t>(g.n));
  index_t placed = 0;
  buffer<index_t> starts;  // where there is more than one component
  auto next_start = [&, i = index_t{0}]() mutable {
    if (placed == 0) return g.least();
    if (starts.empty()) starts = by_degree(ctx, g);
    while (marks.data()[starts.data()[i]] != unseen) ++i;
    return starts.data()[i];
  };
  while (placed < g.n) {
    const index_t start = next_start();
    index_t* const best = order + placed;
    rcm_sweep last = sweeper.run(start, 0, best), least = last;
    placed += last.size;
    const index_t* out = best;
    index_t levels_before = 2;  // with no more than those all orders are as good
    for (int sweep = 1; sweep < rcm_sweeps && last.levels > levels_before; ++sweep) {
      levels_before = last.levels;
      const index_t next = *std::min_element(out + last.last_level, out + last.size,
                                             [&](index_t x, index_t y) { return g.before(x, y); });
      out = other.data();
      last = sweeper.run(next, sweep, other.data());
      if (last.size != least.size)
        throw error(status::internal, "reverse Cuthill-McKee of a pattern that is not symmetric");
      if (last.bandwidth > least.bandwidth) continue;
      least = last;
      std::copy_n(out, last.size, best);
    }
  }
  std::reverse(order, order + g.n);
}

template <offset O>
bool symmetric_typed(const context& ctx, const matrix_ref& a) {
  const auto* rowptr = static_cast<const O*>(a.rowptr);
  const auto of_row = [&](index_t i, std::uint64_t& sum) {
    std::uint64_t h = 0, g = 0;
    for (O k = rowptr[i]; k < rowptr[i + 1]; ++k) {
      const vertex_hash column(a.colind[k]);
      h += column.h;
      g += column.g;
    }
    sum += vertex_hash(i).asymmetry(h, g);
  };
  return parallel_reduce(threads_for(ctx, a), a.rows, 1024, std::uint64_t{0}, of_row,
                         [](std::uint64_t& all, std::uint64_t mine) { all += mine; }) == 0;
}

}  // namespace

bool is_symmetric_pattern(const context& ctx, const matrix_ref& a) {
  return a.types.offset == offset_type::i32 ? symmetric_typed<std::int32_t>(ctx, a)
                                            : symmetric_typed<std::int64_t>(ctx, a);
}

bool reverse_cuthill_mckee(const context& ctx, const matrix_ref& a, index_t* order) {
  a.types.offset == offset_type::i32 ? rcm_typed<std::int32_t>(ctx, a, order) : rcm_typed<std::int64_t>(ctx, a, order);
  return true;
}

}  // namespace tulle::cpu
