// PageRank (Brin and Page, 1998) by power iteration: tulle_example_pagerank [FILE.mtx | gen:rmat:...]
//
// An entry (i, j) of the matrix is a link from page i to page j. With P the column-stochastic transition matrix, P(j,
// i) = 1 / links of i, d the damping and n the number of pages: r <- d P r + (d * rank of pages without links + 1 - d)
// / n.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <string>
#include <tulle/tulle.hpp>
#include <vector>

namespace {

constexpr double damping = 0.85;
constexpr double tolerance = 1e-10;  // of the sum of the changes of all ranks
constexpr int most_iterations = 200;

struct web {
  tulle::csr<double> transition;  // P
  std::vector<char> dangling;     // pages without links
};

web read_web(const std::string& name) {
  const auto host = tulle::context::cpu();
  tulle::csr<double> links =
      tulle::is_generator(name) ? tulle::generate<double>(host, name) : tulle::read_matrix_market<double>(name);
  if (links.rows != links.cols) {
    throw tulle::error(tulle::status::invalid_dimensions, "a web has as many rows as columns");
  }
  std::vector<char> dangling;
  for (std::size_t page = 0; page < static_cast<std::size_t>(links.rows); ++page) {
    const auto first = links.rowptr.host()[page], last = links.rowptr.host()[page + 1];
    dangling.push_back(first == last);
    for (auto k = first; k < last; ++k)
      links.values.host()[static_cast<std::size_t>(k)] = 1.0 / static_cast<double>(last - first);
  }
  return {tulle::transpose(tulle::to_csc(host, links.view())), std::move(dangling)};
}

/// Adds what does not follow links to `next`; returns the sum of the changes since `rank`.
double teleport(const std::vector<char>& dangling, const std::vector<double>& rank, std::vector<double>& next) {
  double stuck = 0;
  for (std::size_t i = 0; i < rank.size(); ++i) stuck += dangling[i] ? rank[i] : 0;
  const double share = (damping * stuck + 1 - damping) / static_cast<double>(rank.size());
  double change = 0;
  for (std::size_t i = 0; i < rank.size(); ++i) {
    next[i] += share;
    change += std::abs(next[i] - rank[i]);
  }
  return change;
}

void print_top(const std::vector<double>& rank) {
  std::vector<std::size_t> order(rank.size());
  std::iota(order.begin(), order.end(), 0);
  const std::size_t shown = std::min<std::size_t>(5, rank.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    [&](std::size_t a, std::size_t b) { return rank[a] != rank[b] ? rank[a] > rank[b] : a < b; });
  for (std::size_t i = 0; i < shown; ++i) std::printf("page %zu: %.3e\n", order[i] + 1, rank[order[i]]);
}

int run(const std::string& name) {
  const web pages = read_web(name);
  const auto ctx = tulle::context::best();
  tulle::spmv_plan plan(ctx, pages.transition);
  std::printf("%d pages, %lld links\n%s\n", pages.transition.rows, static_cast<long long>(pages.transition.nnz()),
              plan.explain().c_str());

  const std::size_t n = pages.dangling.size();
  std::vector<double> rank(n, 1.0 / static_cast<double>(n));
  tulle::buffer<double> y(ctx, n);
  for (int iteration = 1; iteration <= most_iterations; ++iteration) {
    plan.apply(damping, tulle::to_buffer(ctx, rank), 0.0, y);
    std::vector<double> next = tulle::to_vector(ctx, y);
    const double residual = teleport(pages.dangling, rank, next);
    rank.swap(next);
    std::printf("iteration %d: residual %.3e\n", iteration, residual);
    if (residual < tolerance) {
      std::printf("converged, the ranks add up to %.9f\n", std::accumulate(rank.begin(), rank.end(), 0.0));
      print_top(rank);
      return 0;
    }
  }
  return std::fprintf(stderr, "not converged in %d iterations\n", most_iterations), 4;
}

}  // namespace

int main(int argc, char** argv) try {
  return run(argc > 1 ? argv[1] : "gen:rmat:scale=14");
} catch (const tulle::error& e) {
  return std::fprintf(stderr, "%s\n", e.what()), 1;
}
