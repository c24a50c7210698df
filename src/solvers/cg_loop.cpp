#include "solvers/cg_loop.hpp"

#include <limits>

#include "kernels/backends.hpp"

namespace tulle::detail {
namespace {

std::size_t vector_bytes(const linear_operator& a) {
  const std::size_t bytes = static_cast<std::size_t>(a.dimensions().rows) * size_of(a.vector_type());
  return (bytes + 255) / 256 * 256;
}

}  // namespace

cg_loop::cg_loop(const linear_operator& a, const linear_operator* m, const cg_options& options)
    : a_(a),
      m_(m),
      options_(options),
      ctx_(a.ctx()),
      n_(a.dimensions().rows),
      ops_(ctx_),
      vectors_(ctx_, vector_bytes(a) * (m == nullptr ? 3 : 4)),
      scalars_(ctx_, 1),
      r_(vector(0)),
      p_(vector(1)),
      q_(vector(2)),
      z_(m == nullptr ? r_ : vector(3)),
      s_(scalars_.data()) {
  fill_bytes(ctx_, vectors_.data(), ctx_.space(), 0, vectors_.bytes());  // p is read before it is first written
  fill_bytes(ctx_, scalars_.data(), ctx_.space(), 0, scalars_.bytes());
  ctx_.synchronize();  // solves may come on another stream
}

vector_ref cg_loop::vector(std::int64_t i) const {
  return {a_.vector_type(), vectors_.data() + static_cast<std::size_t>(i) * vector_bytes(a_), n_, ctx_.space(),
          ctx_.device()};
}

vector_ref cg_loop::sums(double* to, std::int64_t count) const {
  return {scalar_type::f64, to, count, ctx_.space(), ctx_.device()};
}

cg_loop::call cg_loop::make_call(const void* b, void* x, cg_record* record, double* history, stream_view stream) const {
  return {{r_.type, b, n_, ctx_.space(), ctx_.device()},
          {r_.type, x, n_, ctx_.space(), ctx_.device()},
          {options_.rtol, options_.atol, m_ != nullptr, record, history},
          stream};
}

bool cg_loop::replaces(int iteration) const {
  return options_.replace_interval > 0 && (iteration + 1) % options_.replace_interval == 0;
}

void cg_loop::decide(const call& c, cg_moment when) { judge_cg(ctx_, c.stream, c.judge, when, s_); }

/// r = b - A x.
void cg_loop::true_residual(const call& c, const vector_ref& r) {
  ops_.copy(c.b, r, c.stream);
  a_.apply(-1, c.x, 1, r, {.stream = c.stream});
}

/// z = M^-1 r and r . z.
void cg_loop::precondition(const call& c) {
  if (m_ == nullptr) return;
  if (r_.type == scalar_type::f64 && m_->can(operation::apply_dots)) {
    return m_->apply_dots(1, r_, 0, z_, r_, sums(s_->rz, 2), {.stream = c.stream});
  }
  m_->apply(1, r_, 0, z_, {.stream = c.stream});
  ops_.dot(r_, z_, sums(s_->rz, 1), c.stream);
}

void cg_loop::begin(const call& c) {
  ops_.norm2(c.b, sums(&s_->rhs, 1), c.stream);
  if (options_.zero_guess) {
    ops_.fill(0, c.x, c.stream);
    ops_.copy(c.b, r_, c.stream);
  } else {
    true_residual(c, r_);
  }
  ops_.dot(r_, r_, sums(s_->rr, 1), c.stream);
  precondition(c);
  decide(c, cg_moment::begin);
  ops_.scale(scalar_ref(sums(&s_->keep_x, 1)), c.x, c.stream);
}

/// Saad, 2003, algorithm 9.1. A step of 0 where the end was reached before.
void cg_loop::iterate(const call& c, int iteration) {
  const coefficient alpha = scalar_ref(sums(&s_->alpha, 1)), beta = scalar_ref(sums(&s_->beta, 1));
  ops_.axpby(1, z_, beta, p_, c.stream);
  // On a CPU the sums of a plan depend on the number of threads, those of vector operations do not.
  if (r_.type == scalar_type::f64 && ctx_.backend() != backend_kind::cpu && a_.can(operation::apply_dots)) {
    a_.apply_dots(1, p_, 0, q_, p_, sums(s_->pq, 2), {.stream = c.stream});
  } else {
    a_.apply(1, p_, 0, q_, {.stream = c.stream});
    ops_.dot(p_, q_, sums(s_->pq, 1), c.stream);
  }
  decide(c, cg_moment::direction);
  if (replaces(iteration)) {
    ops_.axpby(alpha, p_, 1, c.x, c.stream);
    true_residual(c, r_);
    ops_.dot(r_, r_, sums(s_->rr, 1), c.stream);
  } else {
    ops_.axpby_pair_dots({alpha, p_, 1, c.x}, {-alpha, q_, 1, r_}, r_, sums(s_->rr, 2), c.stream);
  }
  precondition(c);
  decide(c, replaces(iteration) ? cg_moment::replaced : cg_moment::residual);
}

/// q = b - A x, and its norm.
void cg_loop::end(const call& c) {
  true_residual(c, q_);
  ops_.norm2(q_, sums(&s_->residual, 1), c.stream);
  decide(c, cg_moment::end);
}

cg_scalars cg_loop::scalars() const {
  cg_scalars now;
  copy_bytes(ctx_, &now, memory_space::host, s_, ctx_.space(), sizeof now);
  return now;
}

void cg_loop::enqueue(const void* b, void* x, cg_record* record, double* history, stream_view stream) {
  const call c = make_call(b, x, record, history, stream);
  begin(c);
  for (int i = 0; i < options_.max_iterations; ++i) iterate(c, i);
  end(c);
}

void cg_loop::solve(const void* b, void* x, cg_record* record, double* history, stream_view stream) {
  const call c = make_call(b, x, record, history, stream);
  begin(c);
  cg_scalars now = scalars();
  double before = std::numeric_limits<double>::infinity();
  for (int i = 0;;) {
    while (now.running != 0 && i < options_.max_iterations) {
      const int next = std::min(options_.max_iterations - i, options_.check_interval) + i;
      while (i < next) iterate(c, i++);
      now = scalars();
      if (options_.progress) options_.progress(now.iterations, std::sqrt(now.rr[0]));
    }
    const bool arrived = now.running == 0 && now.code == static_cast<std::int32_t>(status::success);
    end(c);
    now = scalars();
    // The recursive residual may have arrived without the true one, which still falls.
    const bool falls =
        arrived && now.code == static_cast<std::int32_t>(status::not_converged) && now.residual < before / 2;
    if (!falls || i == options_.max_iterations) return;
    before = now.residual;
    ops_.copy(q_, r_, stream);
    ops_.dot(r_, r_, sums(s_->rr, 1), stream);
    precondition(c);
    decide(c, cg_moment::replaced);
    now = scalars();
  }
}

}  // namespace tulle::detail
