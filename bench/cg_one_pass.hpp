// Conjugate gradients with one kernel an iteration, as an experiment (docs/notes/0013-conjugate-gradients-on-a-gpu.md).
#pragma once

#include <tulle/tulle.hpp>

struct one_pass_options {
  bool gathers = false;  // each row makes r, p and q of its neighbours anew; else they wait for each other
  bool ahead = false;    // values are asked for before vectors are renewed
  bool early = false;    // a pass comes in while the one before ends
  bool fenced = false;   // readers have a fence, too
  bool roomy = false;    // more registers, fewer blocks
  int slack = 0;         // blocks between what renews the last vector that a row needs and the row
};

struct one_pass_result {
  double microseconds = 0;  // an iteration
  int iterations = 0;       // to rtol
  double phases[4] = {};    // of a block: decided, renewed, neighbours ready, done; microseconds
  bool failed = false;
};

/// Solves A x = b (CSR, f64, on the device) with Jacobi's preconditioner.
one_pass_result one_pass(const tulle::context& ctx, const tulle::matrix_ref& a, const tulle::buffer<double>& b,
                         tulle::buffer<double>& x, double rtol, const one_pass_options& o);
