// cg.fused: conjugate gradients in three passes an iteration. x is moved together with p, one step behind, where p is
// read anyway; z = D^-1 r is made where it is needed and never stored; r.z and r.r come from the pass that makes r, and
// p.Ap from that of the matrix where its kernel is `packed`, whose parts no number of threads changes. Values moved per
// iteration beside the matrix: 12 n with Jacobi's preconditioner, 10 n without; where the kernel is another, 2 n more.
// Chosen for one right-hand side without a preconditioner or with Jacobi's.
#include <fmt/format.h>

#include <tulle/ops/matrix.hpp>
#include <tulle/ops/spmv.hpp>

#include "cpu/vector/parts.hpp"
#include "kernels/cg.hpp"
#include "kernels/cg_direct_loop.hpp"

namespace tulle::cpu {
namespace {

const matrix_ref& matrix_of(const cg_problem& p) { return p.blocks.block > 0 ? p.blocks : p.csr; }

/// What one solve is about: the System of solve_system.
template <class T>
struct fused_system {
  const context& ctx;
  const any_spmv_plan& a;
  const cg_options& options;
  std::int64_t n;
  const T* b;
  T *x, *r, *p, *q;
  const T* d;  // D^-1, or null
  double* shares;
  bool sums_in_product;
  double* history;
  bool tells;
  double alpha = 0;  // of the step that x has yet to take
  bool x_is_zero = false;

  double rhs() {
    x_is_zero = options.zero_guess;
    return std::sqrt(sums([&](std::int64_t from, std::int64_t to) {
                       if (options.zero_guess) std::fill(x + from, x + to, T{0});
                       return residual_sums{part_dot(b, b, from, to), 0};
                     }).rz);
  }
  void forget_guess() {
    x_is_zero = true;
    for_vector_parts(ctx, n,
                     [&](std::int64_t, std::int64_t from, std::int64_t to) { std::fill(x + from, x + to, T{0}); });
  }
  [[nodiscard]] static std::int64_t broken() { return -1; }
  void note(int iterations, double rr) const {
    if (history != nullptr) history[iterations] = std::sqrt(rr);
    if (tells && options.progress && iterations % options.check_interval == 0)
      options.progress(iterations, std::sqrt(rr));
  }

  residual_sums residual() {
    take_step();
    if (x_is_zero) {
      return sums([&](std::int64_t from, std::int64_t to) {
        std::copy(b + from, b + to, r + from);
        return sums_of_r(from, to);
      });
    }
    a.apply(1, ref<const_vector_ref>(x), 0, ref<vector_ref>(q));
    return sums([&](std::int64_t from, std::int64_t to) {
      for (std::int64_t i = from; i < to; ++i) r[i] = b[i] - q[i];
      return sums_of_r(from, to);
    });
  }
  /// x += alpha p; p = D^-1 r + beta p.
  void turn(double beta) {
    const T step = static_cast<T>(alpha), scale = static_cast<T>(beta);
    alpha = 0;
    for_vector_parts(ctx, n, [&](std::int64_t, std::int64_t from, std::int64_t to) {
      if (scale == T{0}) {
        take_step(step, from, to);
        for (std::int64_t i = from; i < to; ++i) p[i] = d == nullptr ? r[i] : d[i] * r[i];
      } else if (d == nullptr) {
        turn(step, scale, from, to, [](T v, std::int64_t) { return v; });
      } else {
        turn(step, scale, from, to, [&](T v, std::int64_t i) { return d[i] * v; });
      }
    });
  }
  double multiply() const {
    if (sums_in_product) {
      a.apply_dots(1, ref<const_vector_ref>(p), 0, ref<vector_ref>(q), ref<const_vector_ref>(p),
                   {scalar_type::f64, shares, 2, memory_space::host});
      return shares[0];
    }
    a.apply(1, ref<const_vector_ref>(p), 0, ref<vector_ref>(q));
    return sums([&](std::int64_t from, std::int64_t to) { return residual_sums{part_dot(p, q, from, to), 0}; }).rz;
  }
  residual_sums step(double by) {
    alpha = by;
    x_is_zero = false;
    const T scale = static_cast<T>(by);
    return sums([&](std::int64_t from, std::int64_t to) {
      for (std::int64_t i = from; i < to; ++i) r[i] -= scale * q[i];
      return sums_of_r(from, to);
    });
  }

 private:
  template <class Ref, class Pointer>
  [[nodiscard]] Ref ref(Pointer v) const {
    return {scalar_type_of<T>, v, n, memory_space::host};
  }
  /// The sums that f(from, to) gives for all pieces.
  template <class F>
  residual_sums sums(const F& f) const {
    const std::int64_t parts = for_vector_parts(ctx, n, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
      residual_sums mine{0, 0};
      for (std::int64_t from = begin; from < end; from += vector_piece) {
        const residual_sums next = f(from, std::min(end, from + vector_piece));
        mine.rz += next.rz;
        mine.rr += next.rr;
      }
      shares[2 * part] = mine.rz;
      shares[2 * part + 1] = mine.rr;
    });
    residual_sums all{0, 0};
    for (std::int64_t part = 0; part < parts; ++part) {
      all.rz += shares[2 * part];
      all.rr += shares[2 * part + 1];
    }
    return all;
  }
  [[nodiscard]] residual_sums sums_of_r(std::int64_t from, std::int64_t to) const {
    const double rr = part_dot(r, r, from, to);
    if (d == nullptr) return {rr, rr};
    T z[vector_piece];
    for (std::int64_t i = from; i < to; ++i) z[i - from] = d[i] * r[i];
    return {part_dot(r + from, z, 0, to - from), rr};
  }
  void take_step() {
    const T step = static_cast<T>(alpha);
    alpha = 0;
    for_vector_parts(ctx, n, [&](std::int64_t, std::int64_t from, std::int64_t to) { take_step(step, from, to); });
  }
  void take_step(T step, std::int64_t from, std::int64_t to) const {
    if (step == T{0}) return;  // p may hold anything yet
    for (std::int64_t i = from; i < to; ++i) x[i] += step * p[i];
  }
  template <class Z>
  void turn(T step, T scale, std::int64_t from, std::int64_t to, const Z& z) const {
    T *const to_x = x, *const to_p = p;
    const T* const of_r = r;
#pragma omp simd
    for (std::int64_t i = from; i < to; ++i) {
      const T before = to_p[i];
      to_x[i] += step * before;
      to_p[i] = z(of_r[i], i) + scale * before;
    }
  }
};

template <class T>
class cg_fused final : public cg_operator {
 public:
  cg_fused(const context& ctx, const cg_problem& p)
      : ctx_(ctx),
        options_(p.options),
        n_(p.csr.rows),
        a_(ctx, matrix_of(p), p.options.spmv),
        r_(ctx, size()),
        p_(ctx, size()),
        q_(ctx, size()),
        shares_(ctx, 2 * most_vector_parts) {
    if (options_.preconditioner == preconditioner_kind::none) return;
    inverse_ = buffer<T>(ctx, size());
    invert(p.csr);
  }

  void enqueue(const void* b, void* x, cg_record* record, double* history, stream_view) override {
    run(b, x, record, history, false);
  }
  void solve(const void* b, void* x, cg_record* record, double* history, stream_view) override {
    run(b, x, record, history, true);
  }
  void update_values(const cg_problem& p) override {
    const matrix_ref& a = matrix_of(p);
    const std::int64_t count = a.block > 0 ? a.stored * a.block * a.block : a.nnz;
    a_.update_values(const_vector_ref(a.types.value, a.values, count, a.space, a.device));
    if (!inverse_.empty()) invert(p.csr);
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return a_.workspace_bytes() + r_.bytes() + p_.bytes() + q_.bytes() + inverse_.bytes() + shares_.bytes();
  }
  [[nodiscard]] std::string parameters() const override {
    return fmt::format("values={} {}", (inverse_.empty() ? 10 : 12) + (sums_in_product() ? 0 : 2), a_.explain());
  }

 private:
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(n_); }
  [[nodiscard]] bool sums_in_product() const { return a_.kernel() == "packed"; }

  void run(const void* b, void* x, cg_record* record, double* history, bool tells) {
    fused_system<T> system{ctx_,
                           a_,
                           options_,
                           n_,
                           static_cast<const T*>(b),
                           static_cast<T*>(x),
                           r_.data(),
                           p_.data(),
                           q_.data(),
                           inverse_.data(),
                           shares_.data(),
                           sums_in_product(),
                           history,
                           tells};
    *record = solve_system(system, {options_.rtol, options_.atol, options_.max_iterations, options_.replace_interval});
  }
  void invert(const matrix_ref& a) {
    diagonal(ctx_, a, inverse_);
    for (std::int64_t i = 0; i < n_; ++i) {
      T& d = inverse_.data()[i];
      if (d <= 0) {
        throw error(status::indefinite, fmt::format("A is not positive definite: a_ii = {} for i = {}, counted from 0",
                                                    static_cast<double>(d), i));
      }
      d = 1 / d;
    }
  }

  context ctx_;
  cg_options options_;
  std::int64_t n_;
  any_spmv_plan a_;
  buffer<T> r_, p_, q_, inverse_;
  buffer<double> shares_;
};

support supports(const cg_problem& p, const device_info&) {
  const preconditioner_kind m = p.options.preconditioner;
  if (m == preconditioner_kind::jacobi || m == preconditioner_kind::none) {
    return {true, "three passes an iteration: x with p, the matrix with p.Ap, r with its sums"};
  }
  return {false, fmt::format("its preconditioners are jacobi and none, not {}", name(m))};
}

std::unique_ptr<cg_operator> make(const context& ctx, const cg_problem& p) {
  if (p.csr.types.value == scalar_type::f32) return std::make_unique<cg_fused<float>>(ctx, p);
  return std::make_unique<cg_fused<double>>(ctx, p);
}

}  // namespace

cg_kernel cg_fused_entry() {
  return {
      .name = "cg.fused",
      .summary = "three passes an iteration: x moves with p, z is never stored",
      .backend = backend_kind::cpu,
      .types = type_set::floating,
      .supports = supports,
      .make = make,
  };
}

}  // namespace tulle::cpu
