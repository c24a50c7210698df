#include "solvers/cg_loop.hpp"

#include <algorithm>
#include <limits>

#include "kernels/backends.hpp"

namespace tulle::detail {
namespace {

std::size_t vector_bytes(const linear_operator& a) {
  const std::size_t bytes = static_cast<std::size_t>(a.dimensions().rows) * size_of(a.vector_type());
  return (bytes + 255) / 256 * 256;
}

/// Columns of multivectors, `ld` elements apart.
template <class Vector>
auto columns_of(const Vector& first, index_t count, std::int64_t ld) {
  using multivector = std::conditional_t<std::is_same_v<Vector, vector_ref>, multivector_ref, const_multivector_ref>;
  return multivector(first.type, static_cast<index_t>(first.size), count, ld, vector_order::column_major, first.data,
                     first.space, first.device);
}

}  // namespace

cg_loop::cg_loop(const linear_operator& a, const linear_operator* m, const cg_options& options)
    : a_(a),
      m_(m),
      options_(options),
      ctx_(a.ctx()),
      n_(a.dimensions().rows),
      type_(a.vector_type()),
      columns_(options.rhs),
      ops_(ctx_),
      vectors_(ctx_, vector_bytes(a) * static_cast<std::size_t>(columns_) * (m == nullptr ? 3 : 4)),
      scalars_(ctx_, static_cast<std::size_t>(columns_)),
      now_(static_cast<std::size_t>(columns_)),
      before_(now_.size()),
      arrived_(now_.size()) {
  fill_bytes(ctx_, vectors_.data(), ctx_.space(), 0, vectors_.bytes());  // p is read before it is first written
  fill_bytes(ctx_, scalars_.data(), ctx_.space(), 0, scalars_.bytes());
  ctx_.synchronize();  // solves may come on another stream
}

vector_ref cg_loop::at(void* data) const { return {type_, data, n_, ctx_.space(), ctx_.device()}; }
vector_ref cg_loop::vector(part which, index_t j) const {
  if (which == z && m_ == nullptr) which = r;
  return at(vectors_.data() + static_cast<std::size_t>(which * columns_ + j) * vector_bytes(a_));
}
const_vector_ref cg_loop::b(const call& c, index_t j) const {
  const auto* first = static_cast<const std::byte*>(c.systems.b);
  return {type_, first + c.systems.ld_b * j * static_cast<std::int64_t>(size_of(type_)), n_, ctx_.space(),
          ctx_.device()};
}
vector_ref cg_loop::x(const call& c, index_t j) const {
  return at(static_cast<std::byte*>(c.systems.x) + c.systems.ld_x * j * static_cast<std::int64_t>(size_of(type_)));
}
vector_ref cg_loop::sums(double* to, std::int64_t count) const {
  return {scalar_type::f64, to, count, ctx_.space(), ctx_.device()};
}

bool cg_loop::replaces(int iteration) const {
  return options_.replace_interval > 0 && (iteration + 1) % options_.replace_interval == 0;
}

void cg_loop::decide(const call& c, index_t j, cg_moment when) {
  const cg_systems& s = c.systems;
  const cg_judge how{options_.rtol, options_.atol, m_ != nullptr, s.record == nullptr ? nullptr : s.record + j,
                     j == 0 ? s.history : nullptr};
  judge_cg(ctx_, c.stream, how, when, scalars_.data() + j);
}

/// q = A p and p . q.
void cg_loop::multiply(const call& c) {
  const index_t count = c.systems.count;
  const apply_options on{.stream = c.stream};
  // On a CPU the sums of a plan depend on the number of threads, those of vector operations do not.
  const bool fused = count == 1 && type_ == scalar_type::f64 && ctx_.backend() != backend_kind::cpu;
  if (fused && a_.can(operation::apply_dots)) {
    return a_.apply_dots(1, vector(p, 0), 0, vector(q, 0), vector(p, 0), sums(scalars_.data()->pq, 2), on);
  }
  if (count > 1 && a_.can(operation::apply_many)) {
    const auto ld = static_cast<std::int64_t>(vector_bytes(a_) / size_of(type_));
    a_.apply_many(1, columns_of(vector(p, 0), count, ld), 0, columns_of(vector(q, 0), count, ld), on);
  } else {
    for (index_t j = 0; j < count; ++j) a_.apply(1, vector(p, j), 0, vector(q, j), on);
  }
  for (index_t j = 0; j < count; ++j) {
    ops_.dot(vector(p, j), vector(q, j), sums(scalars_.data()[j].pq, 1), c.stream);
  }
}

/// b - A x.
void cg_loop::true_residual(const call& c, part to) {
  const index_t count = c.systems.count;
  for (index_t j = 0; j < count; ++j) {
    ops_.copy(b(c, j), vector(to, j), c.stream);
    a_.apply(-1, x(c, j), 1, vector(to, j), {.stream = c.stream});
  }
}

/// z = M^-1 r and r . z.
void cg_loop::precondition(const call& c, index_t j) {
  if (m_ == nullptr) return;
  double* const rz = scalars_.data()[j].rz;
  if (type_ == scalar_type::f64 && m_->can(operation::apply_dots)) {
    return m_->apply_dots(1, vector(r, j), 0, vector(z, j), vector(r, j), sums(rz, 2), {.stream = c.stream});
  }
  m_->apply(1, vector(r, j), 0, vector(z, j), {.stream = c.stream});
  ops_.dot(vector(r, j), vector(z, j), sums(rz, 1), c.stream);
}

void cg_loop::begin(const call& c) {
  if (!options_.zero_guess) true_residual(c, r);
  for (index_t j = 0; j < c.systems.count; ++j) {
    cg_scalars& s = scalars_.data()[j];
    ops_.norm2(b(c, j), sums(&s.rhs, 1), c.stream);
    if (options_.zero_guess) {
      ops_.fill(0, x(c, j), c.stream);
      ops_.copy(b(c, j), vector(r, j), c.stream);
    }
    ops_.dot(vector(r, j), vector(r, j), sums(s.rr, 1), c.stream);
    precondition(c, j);
    decide(c, j, cg_moment::begin);
    ops_.scale(scalar_ref(sums(&s.keep_x, 1)), x(c, j), c.stream);
  }
}

/// Saad, 2003, algorithm 9.1. A step of 0 where the end was reached before.
void cg_loop::iterate(const call& c, int iteration) {
  const index_t count = c.systems.count;
  for (index_t j = 0; j < count; ++j) {
    const coefficient beta = scalar_ref(sums(&scalars_.data()[j].beta, 1));
    ops_.axpby(1, vector(z, j), beta, vector(p, j), c.stream);
  }
  multiply(c);
  const bool replaced = replaces(iteration);
  for (index_t j = 0; j < count; ++j) {
    decide(c, j, cg_moment::direction);
    cg_scalars& s = scalars_.data()[j];
    const coefficient alpha = scalar_ref(sums(&s.alpha, 1));
    if (replaced) {
      ops_.axpby(alpha, vector(p, j), 1, x(c, j), c.stream);
    } else {
      ops_.axpby_pair_dots({alpha, vector(p, j), 1, x(c, j)}, {-alpha, vector(q, j), 1, vector(r, j)}, vector(r, j),
                           sums(s.rr, 2), c.stream);
    }
  }
  if (replaced) true_residual(c, r);
  for (index_t j = 0; j < count; ++j) {
    if (replaced) ops_.dot(vector(r, j), vector(r, j), sums(scalars_.data()[j].rr, 1), c.stream);
    precondition(c, j);
    decide(c, j, replaced ? cg_moment::replaced : cg_moment::residual);
  }
}

/// q = b - A x, and its norm.
void cg_loop::end(const call& c) {
  true_residual(c, q);
  for (index_t j = 0; j < c.systems.count; ++j) {
    ops_.norm2(vector(q, j), sums(&scalars_.data()[j].residual, 1), c.stream);
    decide(c, j, cg_moment::end);
  }
}

/// Whether one of them is still running.
bool cg_loop::read_scalars(const call& c) {
  const auto count = static_cast<std::size_t>(c.systems.count);
  copy_bytes(ctx_, now_.data(), memory_space::host, scalars_.data(), ctx_.space(), count * sizeof(cg_scalars));
  return std::any_of(now_.begin(), now_.begin() + c.systems.count, [](const cg_scalars& s) { return s.running != 0; });
}

/// After the end: where the recursive residual had arrived without the true one, which still falls, from the true one.
bool cg_loop::resume(const call& c) {
  bool any = false;
  for (index_t j = 0; j < c.systems.count; ++j) {
    const auto i = static_cast<std::size_t>(j);
    const bool missed = now_[i].code == static_cast<std::int32_t>(status::not_converged);
    if (!arrived_[i] || !missed || now_[i].residual >= before_[i] / 2) continue;
    before_[i] = now_[i].residual;
    any = true;
    ops_.copy(vector(q, j), vector(r, j), c.stream);
    ops_.dot(vector(r, j), vector(r, j), sums(scalars_.data()[j].rr, 1), c.stream);
    precondition(c, j);
    decide(c, j, cg_moment::replaced);
  }
  return any && read_scalars(c);
}

void cg_loop::enqueue(const cg_systems& systems, stream_view stream) {
  const call c{systems, stream};
  begin(c);
  for (int i = 0; i < options_.max_iterations; ++i) iterate(c, i);
  end(c);
}

void cg_loop::solve(const cg_systems& systems, stream_view stream) {
  const call c{systems, stream};
  std::ranges::fill(before_, std::numeric_limits<double>::infinity());
  begin(c);
  bool running = read_scalars(c);
  for (int i = 0;;) {
    while (running && i < options_.max_iterations) {
      const int next = std::min(options_.max_iterations - i, options_.check_interval) + i;
      while (i < next) iterate(c, i++);
      running = read_scalars(c);
      if (options_.progress) options_.progress(now_[0].iterations, std::sqrt(now_[0].rr[0]));
    }
    for (std::size_t j = 0; j < now_.size(); ++j) {
      arrived_[j] = now_[j].running == 0 && now_[j].code == static_cast<std::int32_t>(status::success);
    }
    end(c);
    read_scalars(c);
    if (i == options_.max_iterations || !resume(c)) return;
    running = true;
  }
}

}  // namespace tulle::detail
