// A deforming surface that is tracked from frame to frame: tulle_example_tracking [cpu|cuda] [NODES [FRAMES]]
//
// A graph of nodes with 6 unknowns each and 8 neighbours, as in embedded deformation (Sumner, Schmid, Pauly: Embedded
// Deformation for Shape Manipulation, SIGGRAPH 2007). Every frame is one Gauss-Newton step: residuals r and their
// Jacobian J at the present state, the normal equations (J^T J) x = -J^T r, 10 iterations of conjugate gradients with
// the 6 x 6 diagonal blocks as preconditioner. Patterns are known beforehand: a frame refills values, in the product
// J^T J and in the solver, and allocates nothing. Prints what each stage takes and how far the state is from the truth.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <tulle/tulle.hpp>
#include <vector>

#include "backend.hpp"

namespace {

using clock_type = std::chrono::steady_clock;
using vector = tulle::buffer<double>;
constexpr int unknowns = 6, neighbours = 8, iterations = 10;
constexpr double data_weight = 0.3;

struct edge {
  tulle::index_t from, to;
};

/// Neighbours on a ring of rings: 4 to either side, so that each node has 8.
std::vector<edge> make_edges(tulle::index_t nodes) {
  const auto width = static_cast<tulle::index_t>(std::sqrt(static_cast<double>(nodes)));
  std::vector<edge> edges;
  for (tulle::index_t i = 0; i < nodes; ++i) {
    for (const tulle::index_t step : {1, width - 1, width, width + 1}) edges.push_back({i, (i + step) % nodes});
  }
  static_assert(neighbours == 2 * 4);
  return edges;
}

/// What is measured of a state: every unknown bends a little with the next one.
double measured(const double* x, int k) { return x[k] + 0.2 * std::sin(x[(k + 1) % unknowns]); }
double slope(const double* x, int k, int j) { return j == k ? 1 : j == (k + 1) % unknowns ? 0.2 * std::cos(x[j]) : 0; }

/// Where node i truly is in a frame.
void truth(tulle::index_t i, double time, double* x) {
  for (int k = 0; k < unknowns; ++k) x[k] = std::sin(0.01 * i + 0.1 * time + k);
}

struct system {
  tulle::index_t nodes;
  std::vector<edge> edges;
  // J: edges and then nodes, 6 rows each; 12 or 6 entries a row.
  std::vector<std::int32_t> rowptr{0};
  std::vector<tulle::index_t> colind;
  std::vector<double> values, residuals;

  explicit system(tulle::index_t n) : nodes(n), edges(make_edges(n)) {
    const auto add = [&](std::array<tulle::index_t, 2> of, int count) {
      for (int row = 0; row < unknowns; ++row) {
        for (int c = 0; c < count; ++c) {
          for (int k = 0; k < unknowns; ++k) colind.push_back(of[static_cast<std::size_t>(c)] * unknowns + k);
        }
        rowptr.push_back(static_cast<std::int32_t>(colind.size()));
      }
    };
    for (const auto& [from, to] : edges) add({std::min(from, to), std::max(from, to)}, 2);
    for (tulle::index_t i = 0; i < nodes; ++i) add({i, i}, 1);
    values.resize(colind.size());
    residuals.resize(rowptr.size() - 1);
  }

  [[nodiscard]] tulle::csr_view<double, std::int32_t> jacobian() const {
    return {static_cast<tulle::index_t>(residuals.size()),
            nodes * unknowns,
            static_cast<std::int32_t>(values.size()),
            rowptr.data(),
            colind.data(),
            values.data(),
            tulle::memory_space::host};
  }

  /// Residuals and Jacobian at a state, against what a frame shows; returns the cost.
  double evaluate(const std::vector<double>& state, double time) {
    double* j = values.data();
    double* r = residuals.data();
    double cost = 0;
    const auto at = [&](tulle::index_t i) { return state.data() + static_cast<std::size_t>(i) * unknowns; };
    for (const auto& [from, to] : edges) {
      double t_from[unknowns], t_to[unknowns];
      truth(from, time, t_from);
      truth(to, time, t_to);
      for (int k = 0; k < unknowns; ++k, ++r) {
        *r = measured(at(to), k) - measured(at(from), k) - (measured(t_to, k) - measured(t_from, k));
        for (const tulle::index_t node : {std::min(from, to), std::max(from, to)}) {
          const double sign = node == to ? 1 : -1;
          for (int c = 0; c < unknowns; ++c) *j++ = sign * slope(at(node), k, c);
        }
        cost += *r * *r;
      }
    }
    for (tulle::index_t i = 0; i < nodes; ++i) {
      double t[unknowns];
      truth(i, time, t);
      for (int k = 0; k < unknowns; ++k, ++r) {
        *r = data_weight * (at(i)[k] - t[k]);
        for (int c = 0; c < unknowns; ++c) *j++ = c == k ? data_weight : 0;
        cost += *r * *r;
      }
    }
    return cost;
  }
};

/// Microseconds of the stages, added up over the frames.
class stopwatch {
 public:
  explicit stopwatch(const tulle::context& ctx) : ctx_(ctx) {}
  template <class F>
  void time(std::size_t stage, F&& f) {
    const auto begin = clock_type::now();
    f();
    ctx_.synchronize();
    sums_[stage] += std::chrono::duration<double, std::micro>(clock_type::now() - begin).count();
  }
  [[nodiscard]] double mean(std::size_t stage, int frames) const { return sums_[stage] / frames; }

 private:
  const tulle::context& ctx_;
  std::array<double, 6> sums_{};
};

int run(const tulle::context& ctx, tulle::index_t nodes, int frames) {
  system graph(nodes);
  std::vector<double> state(static_cast<std::size_t>(nodes) * unknowns);
  for (tulle::index_t i = 0; i < nodes; ++i) truth(i, 0, state.data() + static_cast<std::size_t>(i) * unknowns);
  graph.evaluate(state, 1);

  // Everything that depends on the pattern alone.
  vector j = to_buffer(ctx, graph.values), r = to_buffer(ctx, graph.residuals), x(ctx, state.size()),
         g(ctx, state.size());
  tulle::spgemm_options product_options;
  product_options.transpose_a = true;
  const tulle::matrix_ref jacobian = clone(ctx, graph.jacobian());
  tulle::any_spgemm_plan product(ctx, jacobian, jacobian, product_options);
  const tulle::matrix_ref normal = product.multiply();
  tulle::spmv_options transposed;
  transposed.transpose = true;
  tulle::any_spmv_plan gradient(ctx, jacobian, transposed);
  tulle::cg_options options;
  options.preconditioner = tulle::preconditioner_kind::block_jacobi;
  options.block = unknowns;
  options.max_iterations = iterations;
  options.rtol = 0;
  options.zero_guess = true;
  tulle::cg_solver solver(ctx, normal, options);
  std::printf("%d nodes, %zu edges, J %zu entries, J^T J %lld\n%s\n%s\n", nodes, graph.edges.size(),
              graph.values.size(), static_cast<long long>(normal.nnz), product.explain().c_str(),
              solver.explain().c_str());

  stopwatch watch(ctx);
  double first_cost = 0, cost = 0;
  for (int frame = 1; frame <= frames; ++frame) {
    watch.time(0, [&] { cost = graph.evaluate(state, frame); });
    if (frame == 1) first_cost = cost;
    watch.time(1, [&] {
      copy_bytes(ctx, j.data(), ctx.space(), graph.values.data(), tulle::memory_space::host, j.bytes());
      copy_bytes(ctx, r.data(), ctx.space(), graph.residuals.data(), tulle::memory_space::host, r.bytes());
    });
    watch.time(2, [&] {
      product.update_values(j, j);
      product.numeric(normal);
    });
    watch.time(3, [&] {
      gradient.update_values(j);
      gradient.apply(-1, r, 0, g);
    });
    watch.time(4, [&] {
      solver.update_values(
          tulle::const_vector_ref(tulle::scalar_type::f64, normal.values, normal.nnz, ctx.space(), ctx.device()));
    });
    watch.time(5, [&] { (void)solver.solve(g, x); });
    const std::vector<double> step = to_vector(ctx, x);
    std::transform(state.begin(), state.end(), step.begin(), state.begin(), std::plus<>());
  }
  constexpr const char* stages[] = {"residuals and Jacobian (host)", "to the backend", "J^T J, values alone", "J^T r",
                                    "new values in the solver",      "10 iterations"};
  for (std::size_t s = 0; s < 6; ++s) std::printf("  %-30s %9.1f us a frame\n", stages[s], watch.mean(s, frames));
  const double after = graph.evaluate(state, frames);
  std::printf("cost of a frame before its step %.3e, after it %.3e\n", cost, after);
  const bool tracked = after < 0.1 * cost && cost < 2 * first_cost;
  std::printf(tracked ? "tracked\n" : "lost\n");
  return tracked ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  const tulle::context ctx = take_context(argc, argv);
  constexpr const char* usage = "tulle_example_tracking [cpu|cuda] [NODES [FRAMES]], 16 to 1000000 and 1 to 10000";
  if (argc > 3) show_usage(usage);
  const int nodes = argc > 1 ? number(argv[1], 16, 1'000'000, usage) : 4096;
  return run(ctx, nodes, argc > 2 ? number(argv[2], 1, 10'000, usage) : 20);
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
