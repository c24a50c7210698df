// The passes of cg.fused (fused.cpp): x is moved together with p, one step behind, and z = D^-1 r is never stored. What
// iterates in f32 under f64 (mixed.cpp) takes them too.
#pragma once

#include <algorithm>
#include <cmath>
#include <tulle/ops/spmv.hpp>

#include "cpu/vector/parts.hpp"
#include "kernels/cg.hpp"
#include "kernels/cg_direct_loop.hpp"

namespace tulle::cpu {

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
  /// What turn left to be done.
  void take_step() {
    const T step = static_cast<T>(alpha);
    alpha = 0;
    for_vector_parts(ctx, n, [&](std::int64_t, std::int64_t from, std::int64_t to) { take_step(step, from, to); });
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

 private:
  template <class Ref, class Pointer>
  [[nodiscard]] Ref ref(Pointer v) const {
    return {scalar_type_of<T>, v, n, memory_space::host};
  }
  [[nodiscard]] residual_sums sums_of_r(std::int64_t from, std::int64_t to) const {
    const double rr = part_dot(r, r, from, to);
    if (d == nullptr) return {rr, rr};
    T z[vector_piece];
    for (std::int64_t i = from; i < to; ++i) z[i - from] = d[i] * r[i];
    return {part_dot(r + from, z, 0, to - from), rr};
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

}  // namespace tulle::cpu
