// Algebraic multigrid by smoothed aggregation (Vanek, Mandel, Brezina, 1996): tulle_example_multigrid [cpu|cuda] [N]
// Solves A x = b, A the 7-point Poisson matrix of an N x N x N grid. T has a column an aggregate of nodes,
// P = (I - omega D^-1 A) T, and the next coarser matrix is P^T A P. Then V-cycles, smoothed by weighted Jacobi. All of
// it runs on the backend, but for the aggregation.
#include <cstdio>
#include <optional>
#include <string>
#include <tulle/tulle.hpp>
#include <utility>
#include <vector>

#include "backend.hpp"

namespace {
using tulle::index_t, tulle::matrix_ref;
using vector = tulle::buffer<double>;
using plan = tulle::any_spmv_plan;

constexpr double omega = 2.0 / 3.0;
constexpr index_t coarsest = 200;   // rows that are worth no other level
constexpr double strong = 0.04;     // i and j are neighbours where a_ij^2 > (strong)^2 a_ii a_jj
constexpr double tolerance = 1e-8;  // of |b - A x| / |b|
constexpr int most_cycles = 50;
std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

/// 6 on the diagonal, -1 for the neighbours.
matrix_ref poisson(const tulle::context& ctx, const std::string& n) {
  const auto host = tulle::context::cpu();
  tulle::csr<double> a = tulle::generate<double>(host, "gen:stencil:points=7,n=" + n);
  tulle::vector_ops(host).fill(-1, a.values);
  return add(ctx, 1, a, 7, tulle::identity(ctx, a.rows, tulle::scalar_type::f64));
}

/// T. A node whose neighbours are all free makes an aggregate with them; then the others join a neighbour's.
template <tulle::offset O>
tulle::csr<double> aggregate(tulle::csr_view<double, O> a, const std::vector<double>& inverse) {
  std::vector<index_t> of(at(a.rows), -1);
  const auto neighbours = [&](index_t i, const auto& f) {
    for (O k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) {
      const std::size_t j = at(a.colind[k]);
      if (a.values[k] * a.values[k] * inverse[at(i)] * inverse[j] > strong * strong) f(of[j]);
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
  const auto host = tulle::context::cpu();
  return {a.rows, count, to_buffer(host, rowptr), to_buffer(host, joined),
          to_buffer(host, std::vector<double>(joined.size(), 1))};
}

struct level {
  matrix_ref a;
  plan multiply;
  vector inverse, x, b, scratch;  // 1 / a_ii; A x = b
  matrix_ref p, r;                // to this level from the next and back; none on the last
  std::optional<plan> prolongate, restrict_;

  level(const tulle::context& ctx, const matrix_ref& from)
      : a(from), multiply(ctx, a), x(ctx, at(a.rows)), b(ctx, x.size()), scratch(ctx, x.size()) {
    if (!multiply.can(tulle::operation::jacobi))
      throw tulle::error(tulle::status::unsupported, "no Jacobi steps: " + multiply.explain());
    diagonal(ctx, a, scratch);
    std::vector<double> reciprocals = to_vector(ctx, scratch);
    for (double& d : reciprocals) d = 1 / d;
    inverse = to_buffer(ctx, reciprocals);
    if (a.rows <= coarsest) return;
    const matrix_ref h = clone(tulle::context::cpu(), a);
    const bool narrow = h.types.offset == tulle::offset_type::i32;
    const matrix_ref t = narrow ? aggregate(h.as<double, std::int32_t>(), reciprocals)
                                : aggregate(h.as<double, std::int64_t>(), reciprocals);
    const matrix_ref one = tulle::identity(ctx, a.rows, tulle::scalar_type::f64);
    p = spgemm(ctx, add(ctx, 1, one, -omega, scale_rows(ctx, a, inverse)), t);
    r = transpose(ctx, p).matrix;
    prolongate.emplace(ctx, p);
    restrict_.emplace(ctx, r);
  }

  void smooth(int steps) {
    for (; steps > 0; --steps, std::swap(x, scratch)) multiply.jacobi(omega, x, b, inverse, scratch);
  }
  /// b - A x.
  vector& residual(const tulle::vector_ops& ops) {
    ops.copy(b, scratch);
    multiply.apply(-1, x, 1, scratch);
    return scratch;
  }
};

/// One V-cycle from level l down.
void cycle(const tulle::vector_ops& ops, std::vector<level>& levels, std::size_t l) {
  level& here = levels[l];
  if (!here.prolongate) return here.smooth(100);
  level& next = levels[l + 1];
  here.smooth(2);
  here.restrict_->apply(1, here.residual(ops), 0, next.b);
  ops.fill(0, next.x);
  cycle(ops, levels, l + 1);
  here.prolongate->apply(1, next.x, 1, here.x);
  here.smooth(2);
}

double norm(const tulle::vector_ops& ops, const vector& v) {
  vector result(ops.ctx(), 1);
  ops.norm2(v, result);
  return to_vector(ops.ctx(), result)[0];
}
/// |b - A x| / |b| from the matrix itself, on the host.
double true_residual(const level& l) {
  const tulle::vector_ops ops(tulle::context::cpu());
  const vector b = clone(ops.ctx(), l.b);
  vector r = clone(ops.ctx(), b);
  tulle::multiply(ops.ctx(), clone(ops.ctx(), l.a), clone(ops.ctx(), l.x), r, -1, 1);
  return norm(ops, r) / norm(ops, b);
}
}  // namespace

int main(int argc, char** argv) try {
  const tulle::context ctx = take_context(argc, argv);
  const tulle::vector_ops ops(ctx);
  std::vector<level> levels;
  levels.emplace_back(ctx, poisson(ctx, argc > 1 ? argv[1] : "24"));
  for (const level* l = &levels[0]; l->prolongate; l = &levels.back())
    levels.emplace_back(ctx, triple_product(ctx, l->r, l->a, l->p));
  for (const level& l : levels) std::printf("%d unknowns, %lld nonzeros\n", l.a.rows, static_cast<long long>(l.a.nnz));
  level& finest = levels[0];
  ops.fill(1, finest.b);
  ops.fill(0, finest.x);
  for (int i = 1; i <= most_cycles; ++i) {
    cycle(ops, levels, 0);
    const double residual = norm(ops, finest.residual(ops)) / norm(ops, finest.b);
    std::printf("cycle %d: residual %.3e\n", i, residual);
    if (residual > tolerance || true_residual(finest) > tolerance) continue;
    return std::printf("converged in %d cycles\n", i), 0;
  }
  return std::fprintf(stderr, "not converged\n"), 4;
} catch (const tulle::error& e) {
  return std::fprintf(stderr, "%s\n", e.what()), 1;
}
