// Conjugate gradients in f32 that are corrected in f64, and when: r = b - A x and x in f64, what is added to x in f32
// (reliable updates: Sleijpen, van der Vorst, Computing 1996; Clark, Babich, Barros, Brower, Rebbi, Computer Physics
// Communications 2010). The matrix is W A W^T, the preconditioner folded away; the f32 residual times `scale` is
// W (b - A x). A correction keeps the direction.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace tulle {

inline constexpr double mixed_deepest = 1e-5;  // as far as f32 may let its residual fall between two corrections,
inline constexpr double mixed_fall = 0.1;      // and as far as it has to,
inline constexpr int mixed_phase = 32;         // once so many iterations have paid for a correction
inline constexpr int mixed_longest = 500;      // iterations without a correction
inline constexpr int mixed_patience = 4;       // corrections in a row that do not halve ||b - A x||, and f32 gives up

struct mixed_state {
  double target;  // of ||b - A x||
  double best;    // the least ||b - A x|| so far
  double scale;   // a power of two, so that no range of f32's matters
  double unit;    // ||b - A x|| over the norm of the f32 residual, when it was last known
  double goal;    // of the norm of the f32 residual: a correction is due,
  double later;   // or, after mixed_phase iterations, here
  double beta;    // of the next direction
  std::int32_t corrections;
  std::int32_t misses;  // corrections in a row that did not help
  std::int32_t gave_up;
};

/// The power of two at or below a positive number.
constexpr double power_of_two_below(double v) {
  const auto power = std::bit_cast<double>(std::bit_cast<std::uint64_t>(v) & 0x7ff0000000000000u);
  return power > 0 ? power : v;
}

/// At the beginning of a solve, when its target is known.
constexpr void begin_mixed(double target, mixed_state& m) {
  m = {};
  m.target = target;
  m.best = 1.7e308;
  m.scale = 1;
}

/// From ||b - A x|| above the target, and ||W (b - A x)||^2: what f32 does next. `rz_before`: the f32 residual's r.r
/// from which the last direction was made; 0: there is none. False: f32 comes no further.
constexpr bool judge_correction(double residual, double rz, double rz_before, mixed_state& m) {
  const double root = std::sqrt(rz);
  m.misses = residual > m.best / 2 ? m.misses + 1 : 0;
  if (residual < m.best) m.best = residual;
  if (!(root > 0) || root - root != 0 || m.misses >= mixed_patience) {
    m.gave_up = 1;
    return false;
  }
  const double before = m.scale;
  m.scale = power_of_two_below(root);
  const double norm = root / m.scale;
  m.unit = residual / norm;
  m.beta = rz_before > 0 ? norm / rz_before * (norm * (m.scale / before)) : 0;
  const double wanted = 0.99 * m.target / m.unit;
  m.goal = wanted > mixed_deepest * norm ? wanted : mixed_deepest * norm;
  m.later = wanted > mixed_fall * norm ? wanted : mixed_fall * norm;
  return true;
}

}  // namespace tulle
