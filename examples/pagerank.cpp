// PageRank (Brin and Page, 1998) by power iteration: tulle_example_pagerank [cpu|cuda] [FILE.mtx | gen:rmat:...]
//
// An entry (i, j) of the matrix is a link from page i to page j. With P the column-stochastic transition matrix, P(j,
// i) = 1 / links of i, d the damping and n the number of pages: r <- d P r + (d * rank of pages without links + 1 - d)
// / n. The ranks and all sums stay on the backend; the host looks at how much they change every ten iterations.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <string>
#include <tulle/tulle.hpp>
#include <utility>
#include <vector>

#include "backend.hpp"

namespace {

using vector = tulle::buffer<double>;

constexpr double damping = 0.85;
constexpr double tolerance = 1e-10;  // of the sum of the changes of all ranks
constexpr int most_iterations = 200;

struct web {
  tulle::matrix_ref transition;  // P
  vector dangling;               // 1 for pages without links, else 0
};

web read_web(const tulle::context& ctx, const std::string& name) {
  const auto host = tulle::context::cpu();
  tulle::csr<double> links =
      tulle::is_generator(name) ? tulle::generate<double>(host, name) : tulle::read_matrix_market<double>(name);
  if (links.rows != links.cols) {
    throw tulle::error(tulle::status::invalid_dimensions, "a web has as many rows as columns");
  }
  tulle::vector_ops(host).fill(1, links.values);
  std::vector<double> dangling, share;
  for (std::size_t page = 0; page < static_cast<std::size_t>(links.rows); ++page) {
    const auto count = links.rowptr.host()[page + 1] - links.rowptr.host()[page];
    dangling.push_back(count == 0 ? 1 : 0);
    share.push_back(count == 0 ? 0 : 1 / static_cast<double>(count));
  }
  return {transpose(ctx, scale_rows(ctx, links, to_buffer(ctx, share))).matrix, to_buffer(ctx, dangling)};
}

void print_top(const std::vector<double>& rank) {
  std::vector<std::size_t> order(rank.size());
  std::iota(order.begin(), order.end(), 0);
  const std::size_t shown = std::min<std::size_t>(5, rank.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    [&](std::size_t a, std::size_t b) { return rank[a] != rank[b] ? rank[a] > rank[b] : a < b; });
  for (std::size_t i = 0; i < shown; ++i) std::printf("page %zu: %.3e\n", order[i] + 1, rank[order[i]]);
}

int run(const tulle::context& ctx, const std::string& name) {
  const web pages = read_web(ctx, name);
  const tulle::any_spmv_plan follow(ctx, pages.transition);
  std::printf("%d pages, %lld links\n%s\n", pages.transition.rows, static_cast<long long>(pages.transition.nnz),
              follow.explain().c_str());

  const tulle::vector_ops ops(ctx);
  const auto n = static_cast<double>(pages.dangling.size());
  vector rank(ctx, pages.dangling.size()), next(ctx, rank.size()), stuck(ctx, 1), share(ctx, 1), change(ctx, 2);
  ops.fill(1 / n, rank);
  for (int iteration = 1; iteration <= most_iterations; ++iteration) {
    ops.dot(pages.dangling, rank, stuck);
    ops.fill((1 - damping) / n, share);
    ops.axpby(damping / n, stuck, 1, share);
    ops.fill(tulle::scalar_ref(share), next);
    follow.apply(damping, rank, 1, next);
    ops.axpby_dots(1, next, -1, rank, rank, change);  // the old ranks become the changes, and their squares a sum
    std::swap(rank, next);
    if (iteration % 10 != 0) continue;
    const double residual = std::sqrt(n * to_vector(ctx, change)[1]);  // Cauchy-Schwarz: at least the sum of |changes|
    std::printf("iteration %d: residual %.3e\n", iteration, residual);
    if (residual < tolerance) {
      const std::vector<double> ranks = to_vector(ctx, rank);
      std::printf("converged, the ranks add up to %.9f\n", std::accumulate(ranks.begin(), ranks.end(), 0.0));
      return print_top(ranks), 0;
    }
  }
  return std::fprintf(stderr, "not converged in %d iterations\n", most_iterations), 4;
}

}  // namespace

int main(int argc, char** argv) try {
  const tulle::context ctx = take_context(argc, argv);
  return run(ctx, argc > 1 ? argv[1] : "gen:rmat:scale=14");
} catch (const tulle::error& e) {
  return std::fprintf(stderr, "%s\n", e.what()), 1;
}
