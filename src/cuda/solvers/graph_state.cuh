// Where a solve of cg.graph (graph.cu) stands, on the device, and what is decided there: by one thread, from sums.
#pragma once

#include <cmath>
#include <cstdint>
#include <tulle/solvers/cg.hpp>

namespace tulle::cuda {

inline constexpr double graph_share = 0.999;  // of the target, for the recursive residual: a little drift may follow

/// Where a solve stands.
struct graph_state {
  const void* b;
  void* x;
  cg_record* record;
  double* history;
  unsigned long long outer, inner;  // handles of conditional nodes, or 0
  double rhs, target, residual;
  double alpha, beta;
  double rz, rz_before;
  std::int32_t iterations, since, code;
  std::int32_t first;    // nothing is known of b and x yet
  std::int32_t running;  // iterations go on; else b - A x is computed anew, or
  std::int32_t stopped;  // the solve is over
  std::int32_t turns;    // the step before did something
  std::int32_t keeps;    // the direction, when r is replaced
  std::int32_t failed;
  std::int32_t exact;    // the next step computes ||r||
  unsigned arrived;      // blocks of a sum
};

/// What the host sees of it.
enum class graph_progress : std::int32_t { runs, pauses, stopped };

/// What does not change from solve to solve.
template <class T>
struct graph_vectors {
  std::int64_t n;
  T *x, *r, *p, *q, *z;  // z: r where it is r
  const T* roots;        // of the diagonal that was folded away, or null
  const T* inverses;     // of diagonal blocks, or null
  const double* dots;    // p.q
  const double* range;     // least and greatest entry of the diagonal that was folded away, else 1
  graph_state* state;
  double* shares;  // 2 of each block
  std::int32_t* progress;  // in pinned memory
  double rtol, atol;
  std::int32_t max_iterations, replace_interval;
  bool zero_guess;
};

__device__ __forceinline__ bool graph_finite(double v) { return v - v == 0; }

__device__ __forceinline__ void set_condition(unsigned long long handle, bool value) {
  if (handle != 0) cudaGraphSetConditional(handle, value ? 1 : 0);
}

template <class T>
__device__ __forceinline__ void report(const graph_vectors<T>& a, graph_progress p) {
  if (a.progress == nullptr) return;
  *static_cast<volatile std::int32_t*>(a.progress) = static_cast<std::int32_t>(p);
  __threadfence_system();
}

template <class T>
__device__ __forceinline__ void pause(const graph_vectors<T>& a) {
  a.state->running = 0;
  set_condition(a.state->inner, false);
  report(a, graph_progress::pauses);
}

template <class T>
__device__ __forceinline__ void fail(const graph_vectors<T>& a, status why) {
  a.state->code = static_cast<std::int32_t>(why);
  a.state->failed = 1;
  pause(a);
}

/// Whether the norm is to be computed although what is at hand bounds it: it may be about to reach the target.
template <class T>
__device__ __forceinline__ bool comes_close(const graph_vectors<T>& a, double rz) {
  const double least = a.range[0], greatest = a.range[1];
  if (least == greatest) return false;
  return a.state->history != nullptr || least * rz <= 16 * a.state->target * a.state->target;
}

/// From the sums of a step. rr is ||r||^2 where `exact`, else unknown.
template <class T>
__device__ void judge_step(const graph_vectors<T>& a, double alpha, double rz, double rr, bool exact) {
  graph_state& s = *a.state;
  // All that is read comes before what is written, so that it is waited for once.
  const double before = s.rz, near = graph_share * s.target, greatest = a.range[1];
  const std::int32_t iterations = s.iterations + 1, since = s.since + 1;
  double* const history = s.history;
  const bool close = comes_close(a, rz);
  const double upper = exact ? rr : greatest * rz;  // of ||r||^2
  s.iterations = iterations;
  s.since = since;
  if (history != nullptr) history[iterations] = sqrt(upper);
  if (!graph_finite(upper) || !graph_finite(rz)) {
    s.turns = 0;
    return fail(a, status::not_finite);
  }
  s.turns = 1;
  s.alpha = alpha;
  s.beta = rz / before;
  s.rz_before = before;
  s.rz = rz;
  s.exact = close;
  if (upper <= near * near || iterations >= a.max_iterations) return pause(a);
  if (rz <= 0) return fail(a, status::breakdown);
  if (a.replace_interval > 0 && since >= a.replace_interval) {
    s.keeps = 1;
    return pause(a);
  }
}

/// From the sums of r = b - A x itself.
template <class T>
__device__ void judge_anew(const graph_vectors<T>& a, double rz, double rr) {
  graph_state& s = *a.state;
  const auto stop = [&](status why) {
    s.code = static_cast<std::int32_t>(why);
    s.stopped = 1;
    s.running = 0;
    set_condition(s.outer, false);
    set_condition(s.inner, false);
    report(a, graph_progress::stopped);
  };
  s.residual = s.rhs == 0 ? 0 : sqrt(rr);
  if (s.first && s.history != nullptr) s.history[0] = s.residual;
  s.first = 0;
  s.turns = 0;
  if (!graph_finite(s.residual) || !graph_finite(s.rhs)) return stop(status::not_finite);
  if (s.failed) return stop(static_cast<status>(s.code));
  if (s.residual <= s.target) return stop(status::success);
  if (s.iterations >= a.max_iterations) return stop(status::not_converged);
  if (!graph_finite(rz)) return stop(status::not_finite);
  if (rz <= 0) return stop(status::breakdown);
  s.beta = s.keeps ? rz / s.rz_before : 0;
  s.rz = rz;
  s.keeps = 0;
  s.since = 0;
  s.running = 1;
  s.exact = comes_close(a, rz);
  set_condition(s.inner, true);
  report(a, graph_progress::runs);
}

}  // namespace tulle::cuda
