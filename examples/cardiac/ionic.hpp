// The membrane: two currents and a gate (Mitchell, Schaeffer: A two-current model for the dynamics of cardiac membrane,
// Bull. Math. Biol. 65, 2003), with the paper's times. u is 0 at rest and 1 where excited.
#pragma once

#include <cmath>

#ifdef __CUDACC__
#define CARDIAC_ANYWHERE __host__ __device__
#else
#define CARDIAC_ANYWHERE
#endif

namespace cardiac {

/// One step of time: explicit in u; the gate, which is linear, exactly.
struct membrane {
  static constexpr double tau_in = 0.3, tau_out = 6, tau_open = 120, tau_close = 150;  // ms
  static constexpr double gate = 0.13;
  double inward, outward, opening, closing;

  explicit membrane(double dt)
      : inward(dt / tau_in),
        outward(dt / tau_out),
        opening(std::exp(-dt / tau_open)),
        closing(std::exp(-dt / tau_close)) {}

  CARDIAC_ANYWHERE void step(double& u, double& h) const {
    const double change = inward * h * u * u * (1 - u) - outward * u;
    h = u < gate ? 1 - (1 - h) * opening : h * closing;
    u += change;
  }
};

/// A cell is activated when u first passes this; when, by a straight line between two steps.
inline constexpr double activated = 0.5;

struct activation_clock {
  double now, dt;  // before the step
  double* times;   // NaN: not yet; null: not wanted

  CARDIAC_ANYWHERE void look(long long i, double before, double after) const {
    if (times == nullptr || before >= activated || after < activated) return;
    if (times[i] != times[i]) times[i] = now + dt * (activated - before) / (after - before);
  }
};

/// The membrane of all cells.
struct reaction {
  membrane model;
  double* gates;
  activation_clock clock;

  /// The potential of cell i after a step: `before` the step, `diffused` by now, its gate as it was.
  CARDIAC_ANYWHERE double operator()(long long i, double before, double diffused, double gate) const {
    model.step(diffused, gate);
    gates[i] = gate;
    clock.look(i, before, diffused);
    return diffused;
  }
};

}  // namespace cardiac
