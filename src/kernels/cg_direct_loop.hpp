// Conjugate gradients where whoever runs the loop has the scalars at hand: a CPU, or, of a batch, a block of threads of
// a GPU. Decisions are those of cg_step.hpp.
#pragma once

#include "core/cholesky.hpp"
#include "kernels/cg_step.hpp"

#ifdef __CUDACC__
#define TULLE_DEVICE __device__
#else
#define TULLE_DEVICE
#endif

namespace tulle {

/// r.z and r.r, where z = M^-1 r.
struct residual_sums {
  double rz;
  double rr;
};

inline constexpr int batch_most_block = 8;

/// Replaces a diagonal block of size x size, whose rows are `width` apart, by its inverse. False where it is not
/// positive definite: it becomes that of I. NaN passes through.
template <class T>
TULLE_DEVICE bool invert_batch_block(T* values, int width, int size) {
  if (size == 1) {
    const bool positive = !(values[0] <= 0);
    values[0] = positive ? static_cast<T>(1 / static_cast<double>(values[0])) : T{1};
    return positive;
  }
  double dense[batch_most_block * batch_most_block];
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size; ++j) dense[i * size + j] = values[i * width + j];
  }
  const bool positive = invert_positive_definite<batch_most_block>(dense, size);
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size; ++j)
      values[i * width + j] = positive ? static_cast<T>(dense[i * size + j]) : static_cast<T>(i == j);
  }
  return positive;
}

struct loop_rules {
  double rtol, atol;
  int max_iterations;
  int replace_interval;  // 0 or below: never
  int begun = 0;         // iterations before the first
};

/// `System` knows the matrix and the vectors:
///   double rhs();                           ||b||
///   void forget_guess();                    x = 0
///   residual_sums residual();               r = b - A x, z = M^-1 r
///   std::int64_t broken();                  a row that M is not positive definite for; -1: it is
///   void turn(double beta);                 p = z + beta p, where beta = 0 does not read p
///   double multiply();                      q = A p; p.q
///   residual_sums step(double alpha);       x += alpha p, r -= alpha q, z = M^-1 r
///   void note(int iterations, double rr);   the recursive residual, squared, after so many iterations
template <class System>
TULLE_DEVICE cg_record solve_system(System& system, const loop_rules& rules) {
  const cg_judge how{rules.rtol, rules.atol, true, nullptr, nullptr, rules.begun};
  cg_scalars s{};
  const auto look = [&](cg_moment when, const residual_sums& sums) {
    s.rz[0] = sums.rz;
    s.rr[0] = sums.rr;
    judge(how, when, s);
    system.note(s.iterations, sums.rr);
  };
  s.rhs = system.rhs();
  if (s.rhs == 0) system.forget_guess();
  look(cg_moment::begin, system.residual());
  const std::int64_t row = s.running != 0 ? system.broken() : -1;
  if (row >= 0) stop(s, status::indefinite);
  for (double before = 1.7e308;;) {  // above all residuals
    while (s.running != 0 && s.iterations < rules.max_iterations) {
      system.turn(s.beta);
      s.pq[0] = system.multiply();
      judge(how, cg_moment::direction, s);
      if (s.running == 0) break;
      const residual_sums sums = system.step(s.alpha);
      const bool replaces = rules.replace_interval > 0 && (s.iterations + 1) % rules.replace_interval == 0;
      if (replaces) {
        look(cg_moment::replaced, system.residual());
      } else {
        look(cg_moment::residual, sums);
      }
    }
    const bool arrived = s.running == 0 && s.code == static_cast<std::int32_t>(status::success);
    const residual_sums truth = system.residual();
    s.residual = std::sqrt(truth.rr);
    judge(how, cg_moment::end, s);
    // The recursive residual had arrived without the true one: from there, as long as that halves it each time.
    const bool missed = arrived && s.code == static_cast<std::int32_t>(status::not_converged);
    if (!missed || s.iterations >= rules.max_iterations || s.residual >= before / 2) break;
    before = s.residual;
    look(cg_moment::replaced, truth);
  }
  return {s.code, s.iterations, s.residual, s.rhs, row};
}

}  // namespace tulle

#undef TULLE_DEVICE
