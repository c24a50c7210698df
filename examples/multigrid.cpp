// Algebraic multigrid by smoothed aggregation (Vanek, Mandel, Brezina, Computing 56, 1996): tulle_example_multigrid [N]
// Solves A x = b, A the 7-point Poisson matrix of an N x N x N grid. T has a column an aggregate of nodes,
// P = (I - omega D^-1 A) T, and the next coarser matrix is P^T A P. Then V-cycles, smoothed by weighted Jacobi.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <string>
#include <tulle/tulle.hpp>
#include <vector>

namespace {
using tulle::index_t;
using matrix = tulle::csr<double>;
using numbers = std::vector<double>;

constexpr double omega = 2.0 / 3.0;
constexpr index_t coarsest = 200;  // rows that are worth no other level
constexpr double strong = 0.04;    // i and j are neighbours where a_ij^2 > (strong)^2 a_ii a_jj
std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

matrix poisson(const tulle::context& ctx, const std::string& n) {
  matrix a = tulle::generate<double>(ctx, "gen:stencil:points=7,n=" + n);
  const auto v = a.view();
  for (index_t i = 0; i < a.rows; ++i)
    for (auto k = v.rowptr[i]; k < v.rowptr[i + 1]; ++k) a.values.data()[k] = v.colind[k] == i ? 6 : -1;
  return a;
}

/// A node whose neighbours are all free makes an aggregate with them; then the others join a neighbour's.
matrix aggregate(const tulle::context& ctx, const matrix& a, const numbers& inverse) {
  const auto v = a.view();
  std::vector<index_t> of(at(a.rows), -1);
  const auto neighbours = [&](index_t i, const auto& f) {
    for (auto k = v.rowptr[i]; k < v.rowptr[i + 1]; ++k) {
      const std::size_t j = at(v.colind[k]);
      if (v.values[k] * v.values[k] * inverse[at(i)] * inverse[j] > strong * strong) f(of[j]);
    }
  };
  index_t count = 0;
  for (index_t i = 0; i < a.rows; ++i) {
    bool free = true;
    neighbours(i, [&](index_t other) { free = free && other < 0; });
    if (free) neighbours(i, [own = count++](index_t& other) { other = own; });
  }
  std::vector<index_t> joined = of;
  std::vector<std::int64_t> rowptr{0};  // a row of T has one entry
  for (index_t i = 0; i < a.rows; ++i) {
    index_t& own = joined[at(i)];
    neighbours(i, [&](index_t other) { own = own < 0 ? other : own; });
    if (own < 0) own = count++;
    rowptr.push_back(i + 1);
  }
  return {a.rows, count, to_buffer(ctx, rowptr), to_buffer(ctx, joined), to_buffer(ctx, numbers(joined.size(), 1))};
}

struct level {
  matrix a;
  numbers inverse;  // of the diagonal
  tulle::spmv_plan<double> multiply;
  matrix p, r;  // to this level from the next and back; none on the last
  std::vector<tulle::spmv_plan<double>> prolongate, restrict_;

  level(const tulle::context& ctx, matrix&& from) : a(std::move(from)), multiply(ctx, a) {
    matrix scaled = clone(ctx, a.view());  // D^-1 A
    const auto v = a.view();
    for (index_t i = 0; i < a.rows; ++i) {
      inverse.push_back(1 / v.values[std::find(v.colind + v.rowptr[i], v.colind + v.rowptr[i + 1], i) - v.colind]);
      for (auto k = v.rowptr[i]; k < v.rowptr[i + 1]; ++k) scaled.values.data()[k] *= inverse.back();
    }
    if (a.rows <= coarsest) return;
    const matrix t = aggregate(ctx, a, inverse);
    tulle::spgemm_plan<double> plan(ctx, scaled.view(), t.view(), {}, {.mask = {}, .d = t.view()});
    p = tulle::widen(ctx, plan.multiply(-omega, 1));
    r = transpose(to_csc(ctx, p.view()));
    prolongate.emplace_back(ctx, p);
    restrict_.emplace_back(ctx, r);
  }

  void smooth(int steps, const numbers& b, numbers& x) {
    for (numbers y(x.size()); steps > 0; --steps, x.swap(y)) multiply.jacobi(omega, x, b, inverse, y);
  }
  [[nodiscard]] numbers residual(numbers b, const numbers& x) {
    multiply.apply(-1.0, x, 1.0, b);
    return b;
  }
};

void cycle(std::vector<level>& levels, std::size_t l, const numbers& b, numbers& x) {
  level& here = levels[l];
  if (here.prolongate.empty()) return here.smooth(100, b, x);
  here.smooth(2, b, x);
  numbers coarse_b(at(here.r.rows)), coarse_x(coarse_b.size());
  here.restrict_[0].apply(1.0, here.residual(b, x), 0.0, coarse_b);
  cycle(levels, l + 1, coarse_b, coarse_x);
  here.prolongate[0].apply(1.0, coarse_x, 1.0, x);
  here.smooth(2, b, x);
}
double norm(const numbers& x) { return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0)); }
}  // namespace

int main(int argc, char** argv) try {
  const tulle::context ctx = tulle::context::cpu();
  std::vector<level> levels;
  levels.emplace_back(ctx, poisson(ctx, argc > 1 ? argv[1] : "24"));
  for (const level* l = &levels[0]; !l->prolongate.empty(); l = &levels.back())
    levels.emplace_back(ctx, tulle::widen(ctx, tulle::triple_product(ctx, l->r, l->a, l->p)));
  for (const level& l : levels) std::printf("%d unknowns, %zu nonzeros\n", l.a.rows, l.a.values.size());
  const numbers b(at(levels[0].a.rows), 1);
  numbers x(b.size());
  for (int i = 1; i <= 100; ++i) {
    cycle(levels, 0, b, x);
    const double residual = norm(levels[0].residual(b, x)) / norm(b);
    std::printf("cycle %d: residual %.3e\n", i, residual);
    if (residual <= 1e-8) return std::printf("converged in %d cycles\n", i), 0;
  }
  return std::fprintf(stderr, "not converged\n"), 4;
} catch (const tulle::error& e) {
  return std::fprintf(stderr, "%s\n", e.what()), 1;
}
