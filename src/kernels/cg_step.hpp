// The scalars of conjugate gradients and what is decided from them, where they are: the same on every backend, so that
// no scalar visits the host. What is constexpr here also runs on the device.
#pragma once

#include <cmath>
#include <cstdint>
#include <tulle/core/context.hpp>
#include <tulle/core/status.hpp>
#include <tulle/solvers/cg.hpp>

namespace tulle {

/// The moments of a solve at which something is decided.
enum class cg_moment : std::uint8_t {
  begin,      // rhs, rr, rz are there: iteration 0
  direction,  // pq is there
  residual,   // rr, rz are there
  replaced,   // the same, and rr is of b - A x itself
  end,        // residual is there, of b - A x itself
};

/// In the context's memory, f64 whatever the vectors are.
struct cg_scalars {
  double pq[2];     // p . A p, and what came beside it
  double rr[2];     // r . r, and what came beside it
  double rz[2];     // r . M^-1 r, the same
  double rhs;       // ||b||
  double residual;  // ||b - A x||
  double alpha;     // 0 from the end on
  double beta;      // of the next direction; 0: the direction is z
  double rz_before;
  double target;  // done when the residual is no greater
  double keep_x;  // 0 where b = 0, and x with it
  std::int32_t iterations;
  std::int32_t code;  // of cg_record
  std::int32_t running;
};

/// Of the recursive residual, so that a little drift leaves the true one below the target as well.
inline constexpr double recursive_share = 0.999;
/// Of ||b||: a recursive residual below this has arrived whatever the target is. The true one stays near rounding of
/// ||b||, and what goes on falls to where its squares underflow, and then diverges.
inline constexpr double least_share = 1e-30;

constexpr bool is_finite(double v) { return v - v == 0; }

constexpr void stop(cg_scalars& s, status why) {
  s.code = static_cast<std::int32_t>(why);
  s.running = 0;
  s.alpha = s.beta = 0;
}

/// What is decided by, and where to: `record` is written at the end, `history` at every residual; both may be null.
struct cg_judge {
  double rtol, atol;
  bool preconditioned;  // else rz is rr
  cg_record* record;
  double* history;
  int begun = 0;  // iterations before the first of the solve
};

/// The iteration goes on from rr and rz, in the direction z + beta p, unless it has arrived.
constexpr void judge_residual(cg_scalars& s, double rz, double target, double beta) {
  const double rr = s.rr[0];
  if (!is_finite(rr)) return stop(s, status::not_finite);
  if (std::sqrt(rr) <= target) return stop(s, status::success);
  if (!is_finite(rz)) return stop(s, status::not_finite);
  if (rz <= 0) return stop(s, status::breakdown);
  s.running = 1;
  s.code = static_cast<std::int32_t>(status::not_converged);
  s.beta = beta;
  s.rz_before = rz;
}

constexpr void judge_begin(const cg_judge& how, double rz, cg_scalars& s) {
  s.iterations = how.begun;
  s.alpha = 0;
  s.keep_x = s.rhs == 0 ? 0 : 1;
  s.target = how.rtol * s.rhs > how.atol ? how.rtol * s.rhs : how.atol;
  if (!is_finite(s.rhs)) return stop(s, status::not_finite);
  if (s.rhs == 0) return stop(s, status::success);
  judge_residual(s, rz, s.target, 0);
}

constexpr void judge_direction(cg_scalars& s) {
  if (s.running == 0) return;
  const double pq = s.pq[0];
  s.alpha = s.rz_before / pq;
  if (is_finite(pq) && pq > 0 && is_finite(s.alpha)) return;
  ++s.iterations;
  stop(s, !is_finite(pq) ? status::not_finite : pq <= 0 ? status::indefinite : status::breakdown);
}

/// A recursive residual that had arrived goes on, in the direction of z, where the true one has not.
constexpr void judge_step(double rz, bool replaced, cg_scalars& s) {
  if (s.running != 0) {
    ++s.iterations;
    const double least = least_share * s.rhs, near = recursive_share * s.target;
    return judge_residual(s, rz, replaced ? s.target : near > least ? near : least, rz / s.rz_before);
  }
  const auto is = [&](status why) { return s.code == static_cast<std::int32_t>(why); };
  if (replaced && s.rhs != 0 && (is(status::success) || is(status::not_converged))) {
    judge_residual(s, rz, s.target, 0);
  }
}

constexpr void judge_end(const cg_judge& how, cg_scalars& s) {
  const bool failed = s.running == 0 && s.code != static_cast<std::int32_t>(status::success);
  if (!is_finite(s.residual)) {
    stop(s, status::not_finite);
  } else if (!failed) {
    stop(s, s.residual <= s.target ? status::success : status::not_converged);
  }
  if (how.record == nullptr) return;
  how.record->code = s.code;
  how.record->iterations = s.iterations;
  how.record->residual = s.residual;
  how.record->rhs = s.rhs;
  how.record->row = -1;
}

constexpr void judge(const cg_judge& how, cg_moment when, cg_scalars& s) {
  if (when == cg_moment::direction) return judge_direction(s);
  if (when == cg_moment::end) return judge_end(how, s);
  const double rz = how.preconditioned ? s.rz[0] : s.rr[0];
  if (when == cg_moment::begin) {
    judge_begin(how, rz, s);
  } else {
    judge_step(rz, when == cg_moment::replaced, s);
  }
  if (how.history != nullptr) how.history[s.iterations] = std::sqrt(s.rr[0]);
}

}  // namespace tulle
