// A x = b by the weighted Jacobi method, x += omega D^-1 (b - A x) (Saad, Iterative Methods for Sparse Linear Systems,
// 2003, section 4.1): converges where A is strictly diagonally dominant, and slowly; one pass over A an iteration.
#pragma once

#include <functional>
#include <tulle/core/context.hpp>
#include <tulle/core/vector_ref.hpp>
#include <tulle/formats/matrix_ref.hpp>
#include <tulle/ops/spmv_options.hpp>
#include <tulle/solvers/cg.hpp>

namespace tulle {

struct jacobi_options {
  double rtol = 1e-8;  // as in cg_options
  double atol = 0;
  int max_iterations = 10'000;
  int check_interval = 10;  // iterations between two computations of the residual
  double omega = 1;
  spmv_options spmv;
  std::function<void(int iterations, double residual)> progress = {};
};

/// x holds the guess and then the solution. The history has the residual's norm at every look, the first before
/// iteration 0. NOT_FINITE as soon as a look finds that; what does not converge is told by the code. Throws as
/// cg_solver does, and INVALID_ARGUMENT for a diagonal with a 0.
cg_result solve_jacobi(const context& ctx, const matrix_ref& a, const const_vector_ref& b, const vector_ref& x,
                       const jacobi_options& options = {});

}  // namespace tulle
