// The preconditioners of a solver: operators M^-1 that follow new values.
#pragma once

#include <memory>
#include <string>
#include <tulle/ops/linear_operator.hpp>

#include "kernels/cg.hpp"

namespace tulle::detail {

class preconditioner : public linear_operator {
 public:
  /// Throws INDEFINITE for a diagonal entry or block that is not positive definite.
  virtual void update(const cg_problem& problem) = 0;
  [[nodiscard]] virtual std::size_t workspace_bytes() const noexcept = 0;
  /// How it is stored; empty where there is nothing to tell.
  [[nodiscard]] virtual std::string parameters() const { return {}; }
};

/// Of problem.options.preconditioner; null for none. `a` is problem.csr as an operator, and must outlive it.
std::unique_ptr<preconditioner> make_preconditioner(const context& ctx, const cg_problem& problem,
                                                    const linear_operator& a);

std::unique_ptr<preconditioner> make_block_jacobi(const context& ctx, const cg_problem& problem);
std::unique_ptr<preconditioner> make_chebyshev(const context& ctx, const cg_problem& problem, const linear_operator& a);

/// 1 / a_ii of a square CSR, in the context's memory. Throws INDEFINITE for the first that is 0 or below; NaN stays.
void invert_diagonal(const context& ctx, const matrix_ref& a, const vector_ref& out);

}  // namespace tulle::detail
