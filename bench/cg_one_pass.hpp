// Conjugate gradients with one kernel an iteration, as an experiment (docs/notes/0013-conjugate-gradients-on-a-gpu.md).
#pragma once

#include <tulle/tulle.hpp>

enum class one_pass_form { waits, gathers };
struct one_pass_result {
  double microseconds = 0;  // an iteration
  int iterations = 0;       // to rtol
};

/// Solves A x = b (CSR, f64, 64-bit offsets, on the device) with Jacobi's preconditioner. `slack`: blocks between what
/// renews the last vector that a row needs and the row.
one_pass_result one_pass(const tulle::context& ctx, const tulle::matrix_ref& a, const tulle::buffer<double>& b,
                         tulle::buffer<double>& x, double rtol, one_pass_form form, int slack);
