// Orderings: reverse Cuthill-McKee vertex by vertex, all others by what they promise, on graphs that have broken such
// codes.
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <tulle/reorder/orderings.hpp>

#include "support/errors.hpp"
#include "support/on_battery.hpp"

namespace tulle::test {
namespace {

using edges = std::vector<std::pair<index_t, index_t>>;

/// A symmetric pattern, its vertices numbered at random; every third has a diagonal entry.
plain_csr<> graph(index_t n, const edges& list, unsigned seed = 1) {
  std::vector<index_t> number(static_cast<std::size_t>(n));
  std::iota(number.begin(), number.end(), 0);
  if (seed != 0) std::shuffle(number.begin(), number.end(), std::mt19937(seed));
  std::vector<std::set<index_t>> rows(static_cast<std::size_t>(n));
  const auto join = [&](index_t i, index_t j) { rows[static_cast<std::size_t>(i)].insert(j); };
  for (index_t i = 0; i < n; i += 3) join(i, i);
  for (const auto& [i, j] : list) {
    const index_t a = number[static_cast<std::size_t>(i)], b = number[static_cast<std::size_t>(j)];
    join(a, b);
    join(b, a);
  }
  plain_csr<> m{0, n, {0}, {}, {}};
  for (const auto& row : rows) m.add_row({row.begin(), row.end()});
  m.values.assign(m.colind.size(), 1.0);
  return m;
}

edges path(index_t begin, index_t end) {
  edges list;
  for (index_t i = begin + 1; i < end; ++i) list.emplace_back(i - 1, i);
  return list;
}
edges star(index_t centre, index_t leaves) {
  edges list;
  for (index_t i = 1; i <= leaves; ++i) list.emplace_back(centre, centre + i);
  return list;
}
edges grid(index_t nx, index_t ny, index_t nz) {
  edges list;
  const auto at = [&](index_t x, index_t y, index_t z) { return (z * ny + y) * nx + x; };
  for (index_t z = 0; z < nz; ++z) {
    for (index_t y = 0; y < ny; ++y) {
      for (index_t x = 0; x < nx; ++x) {
        if (x + 1 < nx) list.emplace_back(at(x, y, z), at(x + 1, y, z));
        if (y + 1 < ny) list.emplace_back(at(x, y, z), at(x, y + 1, z));
        if (z + 1 < nz) list.emplace_back(at(x, y, z), at(x, y, z + 1));
      }
    }
  }
  return list;
}
edges random_edges(index_t n, index_t count, unsigned seed) {
  std::mt19937 random(seed);
  edges list;
  for (index_t i = 0; i < count; ++i) {
    list.emplace_back(random() % static_cast<unsigned>(n), random() % static_cast<unsigned>(n));
  }
  return list;
}
edges complete(index_t n) {
  edges list;
  for (index_t i = 0; i < n; ++i) {
    for (index_t j = 0; j < i; ++j) list.emplace_back(i, j);
  }
  return list;
}
edges together(edges a, const edges& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

struct named_graph {
  const char* name;
  plain_csr<> pattern;
};

const std::vector<named_graph>& graphs() {
  static const std::vector<named_graph> all{
      {"empty", graph(0, {})},
      {"one_vertex", graph(1, {})},
      {"two_vertices", graph(2, {{0, 1}})},
      {"isolated", graph(3000, {})},
      {"path", graph(300, path(0, 300))},
      {"path_in_order", graph(300, path(0, 300), 0)},
      {"long_path", graph(6000, path(0, 6000))},
      {"triangle_and_paths", graph(12, together(complete(3), together(path(3, 7), path(8, 12))))},
      {"complete", graph(70, complete(70))},
      {"star", graph(101, star(0, 100))},
      {"star_of_700", graph(702, together(star(1, 700), {{0, 1}}))},
      {"two_stars_of_9000", graph(18003, together(together(star(1, 9000), star(9002, 9000)), {{0, 1}, {1, 9002}}))},
      {"grid_2d", graph(40 * 37, grid(40, 37, 1))},
      {"grid_3d", graph(20 * 21 * 22, grid(20, 21, 22))},
      {"wide_grid", graph(60 * 60 * 60, grid(60, 60, 60))},
      {"grid_and_isolated", graph(15 * 15 * 15 + 5000, grid(15, 15, 15))},
      {"random_sparse", graph(20000, random_edges(20000, 9000, 2))},
      {"random_connected", graph(5000, together(path(0, 5000), random_edges(5000, 20000, 3)))},
      {"hubs", graph(6000, together(together(star(0, 3000), star(3001, 2900)), random_edges(6000, 5000, 4)))},
  };
  return all;
}

struct sweep_of_component {
  std::vector<index_t> vertices;
  index_t levels = 0, bandwidth = 0, next_start = 0;
};

/// As src/kernels/reorder.hpp says, the plain way.
class reference {
 public:
  explicit reference(const plain_csr<>& m) : m_(m), degree_(static_cast<std::size_t>(m.rows)) {
    for (index_t i = 0; i < m.rows; ++i) {
      for (const index_t j : neighbours(i)) degree_[at(i)] += j != i ? 1 : 0;
    }
  }

  [[nodiscard]] std::vector<index_t> order() const {
    std::vector<index_t> starts(degree_.size()), all;
    std::iota(starts.begin(), starts.end(), 0);
    std::sort(starts.begin(), starts.end(), [&](index_t a, index_t b) { return less(a, b); });
    std::vector<bool> done(degree_.size());
    for (const index_t start : starts) {
      if (done[at(start)]) continue;
      sweep_of_component best = sweep(start), last = best;
      for (index_t count = 1, before = 2; count < 4 && last.levels > before; ++count) {
        before = last.levels;
        last = sweep(last.next_start);
        if (last.bandwidth <= best.bandwidth) best = last;
      }
      for (const index_t v : best.vertices) {
        done[at(v)] = true;
        all.push_back(v);
      }
    }
    std::reverse(all.begin(), all.end());
    return all;
  }

 private:
  static std::size_t at(index_t i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] std::vector<index_t> neighbours(index_t i) const {
    return {m_.colind.begin() + m_.rowptr[at(i)], m_.colind.begin() + m_.rowptr[at(i) + 1]};
  }
  [[nodiscard]] bool less(index_t a, index_t b) const {
    return std::pair(degree_[at(a)], a) < std::pair(degree_[at(b)], b);
  }

  [[nodiscard]] sweep_of_component sweep(index_t start) const {
    sweep_of_component s{{start}};
    std::map<index_t, index_t> level{{start, 1}};
    for (std::size_t p = 0; p < s.vertices.size(); ++p) {
      const index_t parent = s.vertices[p];
      std::vector<index_t> children;
      for (const index_t j : neighbours(parent)) {
        if (level.emplace(j, level[parent] + 1).second) children.push_back(j);
      }
      std::sort(children.begin(), children.end(), [&](index_t a, index_t b) { return less(a, b); });
      s.vertices.insert(s.vertices.end(), children.begin(), children.end());
      if (!children.empty()) s.bandwidth = std::max(s.bandwidth, static_cast<index_t>(s.vertices.size() - 1 - p));
    }
    s.levels = level[s.vertices.back()];
    s.next_start = s.vertices.back();
    for (const index_t v : s.vertices) {
      if (level[v] == s.levels && less(v, s.next_start)) s.next_start = v;
    }
    return s;
  }

  const plain_csr<>& m_;
  std::vector<index_t> degree_;
};

class rcm : public test_on<testing::TestWithParam<std::tuple<const char*, std::size_t>>> {
 protected:
  rcm() : test_on(std::get<0>(GetParam())) {}
};

TEST_P(rcm, numbers_every_vertex_as_the_definition_does) {
  const plain_csr<>& m = graphs()[std::get<1>(GetParam())].pattern;
  const std::vector<index_t> want = reference(m).order();
  EXPECT_EQ(order(ctx(), m.on(ctx()), ordering::rcm).to_vector(), want);
  EXPECT_EQ(order(ctx(), typed<float, std::int32_t>(m).on(ctx()), ordering::rcm).to_vector(), want);
}

INSTANTIATE_TEST_SUITE_P(graphs, rcm,
                         testing::Combine(testing::Values("cpu1", "cpu3", "cuda"),
                                          testing::Range(std::size_t{0}, graphs().size())),
                         [](const auto& which) {
                           return std::get<0>(which.param) + std::string("_") + graphs()[std::get<1>(which.param)].name;
                         });

bool needs_square(ordering how) {
  return how != ordering::natural && how != ordering::length && how != ordering::random;
}

class ordering_all : public on_battery {};
TULLE_ON_BATTERY(ordering_all, "cpu1", "cpu3", "cuda");

/// That an order is one, permutation itself checks.
TEST_P(ordering_all, orders_every_matrix_the_same_everywhere) {
  const context serial = context::cpu(1);
  ordering_options options;
  options.part_rows = 7;
  options.window = 5;
  for (const ordering how : orderings()) {
    SCOPED_TRACE(name(how));
    const csr<double, std::int64_t> a = upload<double, std::int64_t>(ctx(), subject());
    if (needs_square(how) && subject().rows != subject().cols) {
      expect_error(status::invalid_dimensions, "orders the unknowns of a square matrix",
                   [&] { (void)order(ctx(), a, how, options); });
      continue;
    }
    const permutation p = order(ctx(), a, how, options);
    EXPECT_EQ(p.size(), subject().rows);
    EXPECT_EQ(p.ctx().space(), ctx().space());
    EXPECT_EQ(p.to_vector(), order(serial, upload<double, std::int64_t>(serial, subject()), how, options).to_vector());
  }
}

/// The plain way, with sets.
order_quality measured(const plain_csr<>& m) {
  order_quality q;
  std::vector<std::vector<index_t>> groups[3];
  for (index_t i = 0; i < m.rows; ++i) {
    index_t least = i;
    for (auto k = m.rowptr[i]; k < m.rowptr[i + 1]; ++k) {
      const index_t j = m.colind[k];
      q.bandwidth = std::max(q.bandwidth, std::abs(i - j));
      least = std::min(least, j);
      const auto place = static_cast<std::size_t>(k - m.rowptr[i]);
      const auto put = [&](int how, std::size_t group, bool fresh) {
        if (fresh) groups[how].emplace_back();
        (void)group;
        groups[how].back().push_back(j);
      };
      put(1, place / 8, place % 8 == 0);
      put(2, place / 32, place % 32 == 0);
    }
    q.profile += i - least;
  }
  for (index_t first = 0; first < m.rows; first += 32) {
    for (std::int64_t step = 0; step < m.cols + 64; ++step) {
      std::vector<index_t> group;
      for (index_t i = first; i < std::min(m.rows, first + 32); ++i) {
        if (step < m.length(i)) group.push_back(m.colind[static_cast<std::size_t>(m.rowptr[i] + step)]);
      }
      if (group.empty()) break;
      groups[0].push_back(group);
    }
  }
  for (int how = 0; how < 3; ++how) {
    std::size_t lines = 0, sectors = 0;
    for (const auto& group : groups[how]) {
      std::set<index_t> of_lines, of_sectors;
      for (const index_t j : group) {
        of_lines.insert(j / 16);
        of_sectors.insert(j / 4);
      }
      lines += of_lines.size();
      sectors += of_sectors.size();
    }
    q.lines[how] = static_cast<double>(lines) / static_cast<double>(std::max<std::int64_t>(m.nnz(), 1));
    q.sectors[how] = static_cast<double>(sectors) / static_cast<double>(std::max<std::int64_t>(m.nnz(), 1));
  }
  return q;
}

TEST_P(ordering_all, quality_is_what_counting_gives) {
  const order_quality got = measure_order(ctx(), upload<double, std::int64_t>(ctx(), subject()));
  const order_quality want = measured(subject());
  EXPECT_EQ(got.bandwidth, want.bandwidth);
  EXPECT_EQ(got.profile, want.profile);
  for (int how = 0; how < 3; ++how) {
    EXPECT_EQ(got.lines[how], want.lines[how]) << how;
    EXPECT_EQ(got.sectors[how], want.sectors[how]) << how;
  }
}

class ordering_one : public on_backend {};
TULLE_ON_BACKENDS(ordering_one, "cpu3", "cuda");

TEST_P(ordering_one, degrees_ascend_and_lengths_descend_in_their_windows) {
  const plain_csr<>& m = graphs().back().pattern;
  const matrix_ref a = m.on(ctx());
  const std::vector<index_t> degree = order(ctx(), a, ordering::degree).to_vector();
  const auto neighbours = [&](index_t i) { return m.length(i) - (value_at(m, i, i) != 0 ? 1 : 0); };
  for (std::size_t i = 1; i < degree.size(); ++i) {
    ASSERT_LT(std::pair(neighbours(degree[i - 1]), degree[i - 1]), std::pair(neighbours(degree[i]), degree[i]));
  }
  ordering_options options;
  options.window = 100;
  const std::vector<index_t> length = order(ctx(), a, ordering::length, options).to_vector();
  for (std::size_t i = 0; i < length.size(); ++i) {
    ASSERT_EQ(static_cast<std::size_t>(length[i]) / 100, i / 100);
    if (i % 100 == 0) continue;
    ASSERT_LT(std::pair(-m.length(length[i - 1]), length[i - 1]), std::pair(-m.length(length[i]), length[i]));
  }
}

TEST_P(ordering_one, a_pattern_that_is_not_symmetric_is_ordered_as_its_sum_with_its_transpose) {
  const plain_csr<> whole = graph(400, random_edges(400, 900, 7));
  plain_csr<> upper{0, whole.cols, {0}, {}, {}};
  for (index_t i = 0; i < whole.rows; ++i) {
    std::vector<index_t> columns;
    for (auto k = whole.rowptr[i]; k < whole.rowptr[i + 1]; ++k) {
      if (whole.colind[k] >= i) columns.push_back(whole.colind[k]);
    }
    upper.add_row({columns.rbegin(), columns.rend()});  // not in order either
  }
  upper.values.assign(upper.colind.size(), 1.0);
  for (const ordering how : {ordering::rcm, ordering::degree}) {
    EXPECT_EQ(order(ctx(), upper.on(ctx()), how).to_vector(), order(ctx(), whole.on(ctx()), how).to_vector());
  }
}

TEST_P(ordering_one, names_and_arguments_are_checked) {
  for (const ordering how : orderings()) EXPECT_EQ(ordering_named(name(how)), how);
  expect_error(status::invalid_argument, "no ordering is called 'rmc'; did you mean 'rcm'? There are: natural, rcm, amd",
               [] { (void)ordering_named("rmc"); });
  const matrix_ref a = graph(5, path(0, 5)).on(ctx());
  ordering_options options;
  options.window = 0;
  expect_error(status::invalid_argument, "window = 0", [&] { (void)order(ctx(), a, ordering::length, options); });
  for (const ordering how : {ordering::amd, ordering::nd, ordering::partition}) {
    if (std::ranges::find(orderings(), how) != orderings().end()) continue;
    expect_error(status::unsupported, "this build has no", [&] { (void)order(ctx(), a, how); });
  }
}

TEST_P(ordering_one, seeds_give_other_orders) {
  const matrix_ref a = graph(100, {}).on(ctx());
  ordering_options other;
  other.seed = 2;
  EXPECT_NE(order(ctx(), a, ordering::random).to_vector(), order(ctx(), a, ordering::random, other).to_vector());
}

}  // namespace
}  // namespace tulle::test
