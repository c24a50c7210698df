// Triangles of a graph by a masked product: tulle_example_triangles [cpu|cuda] [FILE.mtx | gen:rmat:...]
//
// With L the strictly lower triangle of the adjacency matrix, entry (i, j) of L o (L L) counts the k with i > k > j
// that are neighbours of both i and j, which are neighbours themselves: each triangle once (Azad, Buluc, Gilbert:
// Parallel triangle counting and enumeration using matrix algebra, IPDPSW 2015). The mask keeps L L from being made
// whole.
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string>
#include <tulle/tulle.hpp>
#include <utility>
#include <vector>

#include "backend.hpp"

namespace {

using tulle::index_t;
using graph = tulle::csr<double>;

/// L of the graph whose edges are the entries of A, whichever way they point; loops are left out.
graph lower_triangle(const graph& a) {
  std::vector<std::pair<index_t, index_t>> edges;
  const auto v = a.view();
  for (index_t i = 0; i < a.rows; ++i) {
    for (auto k = v.rowptr[i]; k < v.rowptr[i + 1]; ++k) {
      if (v.colind[k] != i) edges.emplace_back(std::max(i, v.colind[k]), std::min(i, v.colind[k]));
    }
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  const index_t n = std::max(a.rows, a.cols);
  std::vector<std::int64_t> rowptr(static_cast<std::size_t>(n) + 1);
  std::vector<index_t> colind;
  for (const auto& [row, column] : edges) {
    ++rowptr[static_cast<std::size_t>(row) + 1];
    colind.push_back(column);
  }
  std::partial_sum(rowptr.begin(), rowptr.end(), rowptr.begin());
  const auto host = tulle::context::cpu();
  return {n, n, to_buffer(host, rowptr), to_buffer(host, colind),
          to_buffer(host, std::vector<double>(colind.size(), 1))};
}

long long count_by_product(const tulle::context& ctx, const graph& l) {
  const tulle::matrix_ref c = tulle::spgemm_masked(ctx, l, l, l);
  const tulle::const_vector_ref counts(c.types.value, c.values, c.nnz, c.space, c.device);
  tulle::buffer<double> ones(ctx, static_cast<std::size_t>(c.nnz)), sum(ctx, 1);
  const tulle::vector_ops ops(ctx);
  ops.fill(1, ones);
  ops.dot(counts, ones, sum);
  return static_cast<long long>(to_vector(ctx, sum)[0]);
}

/// Looks at all pairs of smaller neighbours of every node.
long long count_by_hand(const graph& l) {
  const auto v = l.view();
  long long triangles = 0;
  for (index_t i = 0; i < l.rows; ++i) {
    for (auto p = v.rowptr[i]; p < v.rowptr[i + 1]; ++p) {
      for (auto q = p + 1; q < v.rowptr[i + 1]; ++q) {
        const index_t smaller = v.colind[p], larger = v.colind[q];
        triangles += std::binary_search(v.colind + v.rowptr[larger], v.colind + v.rowptr[larger + 1], smaller) ? 1 : 0;
      }
    }
  }
  return triangles;
}

int run(const tulle::context& ctx, const std::string& name) {
  const graph l = lower_triangle(tulle::is_generator(name) ? tulle::generate<double>(tulle::context::cpu(), name)
                                                           : tulle::read_matrix_market<double>(name));
  const long long triangles = count_by_product(ctx, l);
  std::printf("%d nodes, %lld edges, %lld triangles\n", l.rows, static_cast<long long>(l.nnz()), triangles);
  if (l.nnz() > 1'000'000) return 0;
  const long long expected = count_by_hand(l);
  if (triangles == expected) return std::printf("as many as by hand\n"), 0;
  return std::fprintf(stderr, "there are %lld\n", expected), 4;
}

}  // namespace

int main(int argc, char** argv) try {
  const tulle::context ctx = take_context(argc, argv);
  return run(ctx, argc > 1 ? argv[1] : "gen:rmat:scale=11");
} catch (const tulle::error& e) {
  return std::fprintf(stderr, "%s\n", e.what()), 1;
}
