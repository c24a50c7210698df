// Conjugate gradients (Saad, Iterative Methods for Sparse Linear Systems, 2003, algorithm 6.18) by vector operations
// alone, the same source on every backend: no scalar of the iteration visits the host.
#include <limits>

#include "vector_fixture.hpp"

namespace tulle::test {
namespace {

class solver_test : public vector_fixture {};
TULLE_ON_VECTORS(solver_test);

/// A = 3 I - S - S^T, where S shifts cyclically: symmetric, eigenvalues from 1 to 5.
struct shifts {
  shifts(const vector_ops& o, std::size_t n) : ops(o), moved(o.ctx(), n) {
    std::vector<std::int32_t> there(n), back(n);
    for (std::size_t i = 0; i < n; ++i) {
      there[i] = static_cast<std::int32_t>((i + 1) % n);
      back[i] = static_cast<std::int32_t>((i + n - 1) % n);
    }
    up = to_buffer(ops.ctx(), there);
    down = to_buffer(ops.ctx(), back);
  }
  /// y = A x, dots = {x . y, y . y}.
  void apply(const buffer<double>& x, buffer<double>& y, buffer<double>& dots) {
    ops.gather(up, x, y);
    ops.gather(down, x, moved);
    ops.axpby(-1, moved, -1, y);
    ops.axpby_dots(3, x, 1, y, x, dots);
  }
  const vector_ops& ops;
  buffer<double> moved;
  buffer<std::int32_t> up, down;
};

TEST_P(solver_test, conjugate_gradients_without_a_scalar_on_the_host) {
  constexpr std::size_t n = 20000;
  shifts a(ops_, n);
  const auto b = random<double>(1, n);
  buffer<double> x(ctx(), n), r(ctx(), n), p(ctx(), n), q(ctx(), n), pq(ctx(), 2), rr(ctx(), 2), next(ctx(), 2);
  ops_.fill(0, x);
  ops_.copy(b, r);
  ops_.copy(b, p);
  ops_.dot(r, r, vector_ref(scalar_type::f64, rr.data(), 1, rr.space()));
  const auto first = [](const buffer<double>& v) { return scalar_ref(scalar_type::f64, v.data(), v.space()); };
  const auto step = [&] {
    a.apply(p, q, pq);
    const coefficient alpha(1, first(rr), first(pq));
    ops_.axpby_pair_dots({alpha, p, 1, x}, {-alpha, q, 1, r}, r, next);
    ops_.axpby(1, r, coefficient(1, first(next), first(rr)), p);
    ops_.copy(next, rr);
  };
  constexpr int steps = 60;
  if (ctx().backend() == backend_kind::cuda) {
    const graph g(ctx(), step);
    for (int i = 0; i < steps; ++i) g.launch();
    ctx().synchronize();
  } else {
    for (int i = 0; i < steps; ++i) step();
  }
  // The error falls by (sqrt 5 - 1) / (sqrt 5 + 1) = 0.38 a step: rounding is all that is left.
  buffer<double> norm(ctx(), 1), size(ctx(), 1);
  a.apply(x, q, pq);
  ops_.axpby(1, b, -1, q);
  ops_.norm2(q, norm);
  ops_.norm2(b, size);
  EXPECT_LE(host(norm)[0], 100 * std::numeric_limits<double>::epsilon() * host(size)[0]);
}

}  // namespace
}  // namespace tulle::test
