// Where a solve of cg.graph (graph.cu) stands, on the device, and what is decided there: by one thread, from sums.
#pragma once

#include <cmath>
#include <cstdint>
#include <tulle/solvers/cg.hpp>

#include "cuda/solvers/inverse_blocks.cuh"
#include "kernels/cg_mixed.hpp"

namespace tulle::cuda {

inline constexpr double graph_share = 0.999;  // of the target, for the recursive residual: a little drift may follow
inline constexpr int graph_most_ring = 4;

/// What a solve is given: pointers of the vectors' type, but for mixed precision's, which are of f64.
struct graph_call {
  const void* b;
  void* x;
  cg_record* record;
  double* history;
  std::int32_t begun;  // iterations of another solver before the first
};

/// Where a solve stands.
struct graph_state {
  const void* b;
  void* x;
  cg_record* record;
  double* history;
  unsigned long long outer, inner;  // handles of conditional nodes, or 0
  double rhs, target, residual;
  double goal, later;  // of the norm of r that iterations are judged by: they pause here, or, after mixed_phase, there
  double unit;         // ||b - A x|| over that norm
  double alpha, beta;
  double rz, rz_before;
  double steps[graph_most_ring];  // of the directions in the ring
  std::int32_t iterations, since, code;
  std::int32_t first;    // nothing is known of b and x yet
  std::int32_t running;  // iterations go on; else b - A x is computed anew, or
  std::int32_t stopped;  // the solve is over
  std::int32_t turns;    // the direction is to be renewed (three kernels: the step before did something)
  std::int32_t keeps;    // the direction, when r is replaced
  std::int32_t failed;
  std::int32_t exact;    // the next step (two kernels: the last) computes ||r||
  std::int32_t moves;    // two kernels: this iteration does something
  std::int32_t owes;     // the sums that it leaves, which nobody has looked at,
  std::int32_t side;     // in this of two places
  std::int32_t pending;  // directions of the ring that x lacks
  std::int32_t slot;     // in the ring, of the last direction
  unsigned arrived;      // blocks of a sum
  // Where iterations are by high words:
  double best;  // the least ||b - A x|| so far
  std::int32_t corrections;
  std::int32_t misses;  // in a row that did not halve it
};

enum class graph_progress : std::int32_t { runs, pauses, stopped };

/// What the host sees of it, in pinned memory.
struct graph_told {
  std::int32_t progress;
  std::int32_t iterations;
  double residual;
};

/// What does not change from solve to solve.
template <class T>
struct graph_vectors {
  std::int64_t n;
  T *x, *r, *p, *q, *z;          // z: r where it is r, base where blocks are folded away; p: a ring of directions,
  std::int64_t stride;           // so far apart,
  int ring;                      // so many
  const T* roots;                // of the diagonal that was folded away, or null
  const T* inverses;             // of the factors of diagonal blocks, or null
  int fold;                      // rows of the blocks that are folded away, or 0
  const double* dots;            // p.q
  const double* range;           // least and greatest entry of the diagonal that was folded away, else 1
  graph_state* state;            // two: those who read one write the other
  double* shares;                // 2 of each block
  double* move_shares;           // the same, of r.r and ||r||^2, in two places as well
  const double* product_shares;  // pairs of p.q and q.q
  std::int64_t product_count;
  graph_told* told;
  double rtol, atol;
  std::int32_t max_iterations, replace_interval;
  bool zero_guess;
  bool tells;                // of every iteration
  bool corrects = false;     // iterations are by A's high words, b - A x by all bits
  inverse_view blocks = {};  // inverses of diagonal blocks, where they are not folded away
};

__device__ __forceinline__ bool graph_finite(double v) { return v - v == 0; }

__device__ __forceinline__ void set_condition(unsigned long long handle, bool value) {
  if (handle != 0) cudaGraphSetConditional(handle, value ? 1 : 0);
}

template <class T>
__device__ __forceinline__ void report(const graph_vectors<T>& a, graph_progress p) {
  if (a.told == nullptr) return;
  *static_cast<volatile std::int32_t*>(&a.told->progress) = static_cast<std::int32_t>(p);
  __threadfence_system();
}

/// ||r|| after so many iterations.
template <class T>
__device__ __forceinline__ void tell(const graph_vectors<T>& a, std::int32_t iterations, double norm) {
  if (!a.tells) return;
  *static_cast<volatile std::int32_t*>(&a.told->iterations) = iterations;
  *static_cast<volatile double*>(&a.told->residual) = norm;
}

/// What a pause means beyond the state; of all that decide alike one tells it.
template <class T>
__device__ __forceinline__ void tell_pause(const graph_vectors<T>& a, const graph_state& s) {
  set_condition(s.inner, false);
  report(a, graph_progress::pauses);
}

__device__ __forceinline__ void fail(graph_state& s, status why) {
  s.code = static_cast<std::int32_t>(why);
  s.failed = 1;
  s.running = 0;
}

/// Whether the norm is to be computed although what is at hand bounds it: it may be about to reach the target.
template <class T>
__device__ __forceinline__ bool comes_close(const graph_vectors<T>& a, const graph_state& s, double rz) {
  const double least = a.range[0], greatest = a.range[1];
  if (least == greatest) return false;
  return s.history != nullptr || a.tells || least * rz <= 16 * s.target * s.target;
}

/// From the sums of r behind an iteration; rr is ||r||^2 where `exact`, else unknown. False: it was the last for now.
template <class T>
__device__ bool judge_sums(const graph_vectors<T>& a, double rz, double rr, bool exact, graph_state& s) {
  const double near = s.since >= mixed_phase ? s.later : s.goal;
  const double upper = exact ? rr : a.range[1] * rz;  // of ||r||^2
  if (s.history != nullptr) s.history[s.iterations] = s.unit * sqrt(upper);
  if (!graph_finite(upper) || !graph_finite(rz)) {
    fail(s, status::not_finite);
  } else if (upper <= near * near || s.iterations >= a.max_iterations) {
    s.keeps = s.running = 0;
  } else if (rz <= 0) {
    fail(s, status::breakdown);
  }
  return s.running != 0;
}

/// From p.q: the step along p, or what is wrong with it. The iteration counts in any case.
__device__ __forceinline__ bool judge_direction(double rz, double pq, graph_state& s) {
  ++s.iterations;
  ++s.since;
  s.alpha = rz / pq;
  if (graph_finite(pq) && pq > 0 && graph_finite(s.alpha)) return true;
  fail(s, !graph_finite(pq) ? status::not_finite : pq <= 0 ? status::indefinite : status::breakdown);
  return false;
}

template <class T>
__device__ __forceinline__ bool replaces(const graph_vectors<T>& a, const graph_state& s) {
  return a.replace_interval > 0 && s.since >= a.replace_interval;
}

/// Of three kernels: from the sums of a step.
template <class T>
__device__ void judge_step(const graph_vectors<T>& a, double rz, double rr) {
  graph_state& s = *a.state;
  s.beta = rz / s.rz;
  s.rz_before = s.rz;
  s.rz = rz;
  tell(a, s.iterations, sqrt(rr));
  const bool goes_on = judge_sums(a, rz, rr, true, s);
  s.turns = !s.failed || s.code != static_cast<std::int32_t>(status::not_finite);
  if (goes_on && replaces(a, s)) {
    s.keeps = 1;
    s.running = 0;
  }
  if (!s.running) tell_pause(a, s);
}

/// Sums over the grid: of the product, and of the move before.
struct graph_sums {
  double pq, qq, rz, rr;
};

/// Of two kernels: all that a move needs is known before it begins, since r'.r' = alpha^2 q.q - r.r for the next r'
/// (Meurant, Multitasking the conjugate gradient method on the CRAY X-MP/48, Parallel Computing 1987). Only the next
/// direction takes that number; the step along it takes the sum itself. Every block decides alike, in a copy of the
/// state.
template <class T>
__device__ void judge_move(const graph_vectors<T>& a, const graph_sums& sums, int slot, int side, graph_state& s) {
  s.moves = s.turns = 0;
  if (!s.running) return;
  if (s.owes) {
    s.owes = 0;
    s.rz = sums.rz;
    if (!judge_sums(a, sums.rz, sums.rr, s.exact != 0, s)) return;
  }
  if (!judge_direction(s.rz, sums.pq, s)) return;
  const double next = fma(s.alpha * s.alpha, sums.qq, -s.rz);
  if (!graph_finite(next)) return fail(s, status::not_finite);
  s.beta = next > 0 ? next / s.rz : 0;
  s.rz_before = s.rz;
  s.exact = comes_close(a, s, s.rz);
  s.moves = s.owes = 1;
  s.side = side;
  s.slot = slot;
  s.steps[slot] = s.alpha;
  s.pending = (slot + 1) % a.ring;
  s.keeps = replaces(a, s);
  s.running = s.turns = !s.keeps && s.iterations < a.max_iterations;
}

template <class T>
__device__ void end_solve(const graph_vectors<T>& a, status why) {
  graph_state& s = *a.state;
  s.code = static_cast<std::int32_t>(why);
  s.stopped = 1;
  s.running = 0;
  set_condition(s.outer, false);
  set_condition(s.inner, false);
  report(a, graph_progress::stopped);
}

/// From ||b - A x||^2 itself. False: the solve is over.
template <class T>
__device__ bool judge_truth(const graph_vectors<T>& a, double rr) {
  graph_state& s = *a.state;
  const auto end = [&](status why) {
    end_solve(a, why);
    return false;
  };
  s.residual = s.rhs == 0 ? 0 : sqrt(rr);
  tell(a, s.iterations, s.residual);
  if (s.first && s.history != nullptr) s.history[s.iterations] = s.residual;
  s.first = s.turns = s.owes = s.pending = 0;
  if (!graph_finite(s.residual) || !graph_finite(s.rhs)) return end(status::not_finite);
  if (s.failed) return end(static_cast<status>(s.code));
  if (s.residual <= s.target) return end(status::success);
  if (s.iterations >= a.max_iterations) return end(status::not_converged);
  return true;
}

/// Iterations begin from a new r and the direction r + beta p.
template <class T>
__device__ void begin_rounds(const graph_vectors<T>& a, double rz, double beta) {
  graph_state& s = *a.state;
  s.beta = beta;
  s.rz = rz;
  s.keeps = 0;
  s.since = 0;
  s.running = 1;
  s.exact = comes_close(a, s, rz);
  set_condition(s.inner, true);
  report(a, graph_progress::runs);
}

/// What iterations by high words do next: as kernels/cg_mixed.hpp has it, without a scale. Judged by r.z.
template <class T>
__device__ void judge_words(const graph_vectors<T>& a, double rz, bool first) {
  graph_state& s = *a.state;
  if (first) {
    s.best = s.residual;
  } else {
    ++s.corrections;
    s.misses = s.residual > s.best / 2 ? s.misses + 1 : 0;
    s.best = fmin(s.best, s.residual);
    if (s.misses >= mixed_patience) return end_solve(a, status::not_converged);
  }
  const double norm = sqrt(rz);
  s.unit = s.residual / norm;
  const double wanted = 0.99 * s.target / s.unit;
  s.goal = fmax(wanted, mixed_deepest * norm);
  s.later = fmax(wanted, mixed_fall * norm);
  begin_rounds(a, rz, !first && s.rz_before > 0 ? rz / s.rz_before : 0);
}

/// From the sums of r = b - A x itself.
template <class T>
__device__ void judge_anew(const graph_vectors<T>& a, double rz, double rr) {
  graph_state& s = *a.state;
  const bool first = s.first != 0;
  if (!judge_truth(a, rr)) return;
  if (!graph_finite(rz)) return end_solve(a, status::not_finite);
  if (rz <= 0) return end_solve(a, status::breakdown);
  if (a.corrects) return judge_words(a, rz, first);
  s.goal = s.later = graph_share * s.target;
  s.unit = 1;
  begin_rounds(a, rz, s.keeps ? rz / s.rz_before : 0);
}

}  // namespace tulle::cuda
