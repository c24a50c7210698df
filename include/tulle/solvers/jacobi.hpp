/// @file
/// A x = b by the weighted Jacobi method, x += omega D^-1 (b - A x) (Saad, Iterative Methods for Sparse Linear Systems,
/// 2003, section 4.1): converges where A is strictly diagonally dominant, and slowly; one pass over A an iteration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tulle/core/context.hpp>
#include <tulle/core/vector_ref.hpp>
#include <tulle/formats/matrix_ref.hpp>
#include <tulle/ops/spmv_options.hpp>
#include <tulle/reorder/orderings.hpp>
#include <tulle/solvers/cg.hpp>
#include <vector>

namespace tulle {

/// The order of rows that a sweep works in; the iterates are the same but for rounding. E is A without its diagonal d,
/// and ' marks what is in another order.
enum class jacobi_form : std::uint8_t {
  plain,      ///< x = (b - E x) / d
  rows,       ///< x = ((b' - E' x) / d')': rows alone, each stored where it belongs by the sweep itself
  symmetric,  ///< x' = (b' - E' x') / d': rows and columns; b and x are moved once before a solve, x once after it
};
/// "plain", "rows", "symmetric".
std::string_view name(jacobi_form form) noexcept;

/// Everything has a default; nobody needs to set anything.
struct jacobi_options {
  double rtol = 1e-8;           ///< as in cg_options
  double atol = 0;              ///< as in cg_options
  int max_iterations = 10'000;  ///< the solve ends NOT_CONVERGED after so many
  int check_interval = 10;      ///< iterations between two computations of the residual
  bool keep_history = false;    ///< the residual's norm at every look
  double omega = 1;             ///< the weight of a step; 1: the plain method
  /// Mixed: of f64 values and vectors, sweeps in f32 and corrections in f64.
  solver_precision precision = solver_precision::uniform;
  jacobi_form form = jacobi_form::plain;  ///< the order that a sweep works in
  /// Of rows and symmetric. None: `length` of rows, `rcm` of both.
  order_choice order = {};
  /// The rows of A are first put in the order of match_diagonal: for an A whose large entries are not on its diagonal.
  bool match = false;
  /// `reorder` makes the plain form symmetric: always, or, where it is automatic, where max_iterations repay that; in
  /// the order of `reorder_method`, unless `order` is set.
  spmv_options spmv;
  /// Called by `solve` with the iterations done and the residual's norm, wherever the residual is computed.
  std::function<void(int iterations, double residual)> progress = {};
};

/// Everything learnt about A x = b for one A. Made once, solved with many times; one solve at a time. Deterministic as
/// the kernel of its plan.
class jacobi_solver {
 public:
  /// A: n x n, of any format; what it owns is kept, as in any_spmv_plan. Throws INVALID_DIMENSIONS (A is not square,
  /// the order has another size), INVALID_ARGUMENT (an option, by name), INVALID_STRUCTURE (also for a diagonal entry
  /// that is 0 or missing, and, of match, for a structurally singular A: both name the row of A), UNSUPPORTED (also
  /// where the kernel cannot store rows in an order), NOT_FINITE (of match), OUT_OF_MEMORY.
  jacobi_solver(const context& ctx, const matrix_ref& a, const jacobi_options& options = {});
  /// Takes the solver over; `other` may only be destroyed or assigned to.
  jacobi_solver(jacobi_solver&&) noexcept;
  /// Takes the solver over.
  jacobi_solver& operator=(jacobi_solver&&) noexcept;
  ~jacobi_solver();

  /// x holds the guess and then the solution. Residuals are true ones, ||b - A x||, in the caller's system. NOT_FINITE
  /// as soon as a look finds that; what does not converge is told by the code. Waits; allocates nothing but the
  /// history.
  cg_result solve(const const_vector_ref& b, const vector_ref& x) const;

  /// New numbers in the same pattern, as any_spmv_plan::update_values; orders, that of `match` too, stay. Waits. Throws
  /// INVALID_STRUCTURE as the constructor: no solve then, before other values have come.
  void update_values(const const_vector_ref& values);

  /// Where it runs.
  [[nodiscard]] const context& ctx() const noexcept;
  /// Of y = A x.
  [[nodiscard]] std::string_view kernel() const noexcept;
  /// The form and its order, and the plan's own sentence.
  [[nodiscard]] std::string explain() const;
  /// Bytes that the solver owns, its plan included.
  [[nodiscard]] std::size_t workspace_bytes() const noexcept;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

/// jacobi_solver for one solve.
cg_result solve_jacobi(const context& ctx, const matrix_ref& a, const const_vector_ref& b, const vector_ref& x,
                       const jacobi_options& options = {});

}  // namespace tulle
