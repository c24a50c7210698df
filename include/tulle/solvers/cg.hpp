/// @file
/// A x = b for symmetric positive definite A: preconditioned conjugate gradients (Hestenes, Stiefel, J. Res. NBS 1952;
/// Saad, Iterative Methods for Sparse Linear Systems, 2003, algorithm 9.1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tulle/core/context.hpp>
#include <tulle/core/status.hpp>
#include <tulle/core/vector_ref.hpp>
#include <tulle/formats/matrix_ref.hpp>
#include <tulle/ops/linear_operator.hpp>
#include <tulle/ops/spmv_options.hpp>
#include <vector>

namespace tulle {

/// M^-1: nothing, 1 / a_ii, the inverses of diagonal blocks, or
/// steps of the Chebyshev iteration (Saad, 2003, algorithm 12.1).
enum class preconditioner_kind : std::uint8_t {
  none,          ///< M = I
  jacobi,        ///< M = D, the diagonal
  block_jacobi,  ///< M: the diagonal blocks
  chebyshev,     ///< a polynomial in D^-1 A
};
/// "none", "jacobi", "block_jacobi", "chebyshev".
std::string_view name(preconditioner_kind kind) noexcept;

/// Of f64 matrices, what a solver iterates in.
enum class solver_precision : std::uint8_t {
  uniform,  ///< the vectors' own type
  mixed,    ///< f32, but b - A x and x in f64: x is corrected whenever that residual has fallen far enough. Where f32
          ///< comes no further the rest is done in f64, from where x is
};
/// "uniform", "mixed".
std::string_view name(solver_precision precision) noexcept;

/// Everything has a default; nobody needs to set anything.
struct cg_options {
  double rtol = 1e-8;           ///< done when ||b - A x|| <= max(rtol ||b||, atol), Euclidean norms
  double atol = 0;              ///< the same as an absolute number
  int max_iterations = 10'000;  ///< the solve ends NOT_CONVERGED after so many
  int check_interval = 0;       ///< iterations that are queued on a device between two looks of the host; 0: chosen
  int replace_interval = 0;     ///< iterations after which r = b - A x is computed anew; 0: chosen, -1: never
  bool zero_guess = false;      ///< x need not be set: the iteration starts from 0
  bool keep_history = false;    ///< the residual norm of every iteration
  preconditioner_kind preconditioner = preconditioner_kind::jacobi;  ///< what the constructor makes of A
  index_t block =
      0;  ///< of block_jacobi, 1 to 8; 0: that of the matrix where it has blocks, else 6 where it divides rows
  /// Of block_jacobi: inverses of blocks are stored in bf16 or f32 where u kappa_1 of the blocks is at most 0.1, so that M
  /// stays positive definite, and on a CPU where they would take 4 MB and more; products and sums are of the vectors'
  /// type (Anzt, Dongarra, Flegar, Higham, Quintana-Orti, CCPE 31, 2019). `explain()` says rows and bytes of each.
  bool narrow_blocks = true;
  int degree = 3;      ///< of chebyshev
  std::string kernel;  ///< by its name in the solvers' table; empty: chosen
  bool once = false;   ///< one solve alone is to come: no kernel is chosen whose set-up takes longer than that
  index_t rhs = 1;     ///< right-hand sides of solve_many, at most
  /// Mixed: of f64 values and vectors, preconditioner none or jacobi, one right-hand side, and `solve`, not `enqueue`.
  solver_precision precision = solver_precision::uniform;
  /// Of the plan that the iteration applies. `high_words`: preconditioner chebyshev applies those, as it does from 2^20
  /// nonzeros on (CUDA: 2^23) where the plan's kernel is not named and has them; on CUDA mixed iterates by those in f64
  /// vectors, in place of f32, with one copy of A. On a CPU mixed leaves that out, and everywhere values and value_rule.
  spmv_options spmv;
  /// Called by `solve` with the iterations done and the recursive residual's norm, wherever the host looks anyway.
  std::function<void(int iterations, double residual)> progress = {};
};

/// How a solve ended, as it is left in the context's memory: no host needs to look.
struct cg_record {
  std::int32_t code = 0;        ///< a tulle::status: SUCCESS, NOT_CONVERGED, INDEFINITE, BREAKDOWN, NOT_FINITE
  std::int32_t iterations = 0;  ///< done when it ended; where the code names a failure, the iteration that found it
  double residual = 0;          ///< ||b - A x||, computed from x at the end
  double rhs = 0;               ///< ||b||
  std::int64_t row =
      -1;  ///< of a diagonal entry, or the first of a block, that a solve found not to be positive definite
};

/// How a solve ended, with what the host was told on the way.
struct cg_result : cg_record {
  /// Where it is kept: the recursive residual's norm before iteration 0, 1, ... and, but for a failure, after the last.
  std::vector<double> history;
  // Of mixed precision:
  int corrections = 0;      ///< times that what was found in f32 was added to x
  int wide_iterations = 0;  ///< of the iterations, those that were done in f64 since f32 came no further
  /// Whether the residual is what was asked for.
  [[nodiscard]] bool converged() const noexcept { return code == static_cast<std::int32_t>(status::success); }
};

/// Everything learnt about A x = b for one A: the plan of A, the preconditioner, the kernel, its workspace. Made once,
/// solved with many times; one solve at a time. Deterministic: the same bits on every run, on a CPU for any number of
/// threads. Dot products are summed in f64 where values are f32.
class cg_solver {
 public:
  /// A: n x n, of any format; what it owns is kept, as in any_spmv_plan. That A is symmetric is not checked. Throws
  /// INVALID_DIMENSIONS (A is not square), INVALID_ARGUMENT (an option, by name; unknown kernel), INVALID_STRUCTURE,
  /// INDEFINITE (a diagonal entry or block that is not positive definite, by number), UNSUPPORTED, OUT_OF_MEMORY.
  cg_solver(const context& ctx, const matrix_ref& a, const cg_options& options = {});
  /// A as anything that can `apply`, and M^-1 as another (null: none; options.preconditioner is not looked at). Both
  /// must outlive the solver.
  explicit cg_solver(const linear_operator& a, const linear_operator* m = nullptr, const cg_options& options = {});
  /// Takes the solver over; `other` may only be destroyed or assigned to.
  cg_solver(cg_solver&&) noexcept;
  /// Takes the solver over.
  cg_solver& operator=(cg_solver&&) noexcept;
  ~cg_solver();

  /// x holds the initial guess (but see zero_guess) and, afterwards, the solution: n elements in the context's memory.
  /// Waits. What does not converge is told by the result's code, not thrown.
  cg_result solve(const const_vector_ref& b, const vector_ref& x) const;
  /// A X = B for several right-hand sides, options.rhs at most: each as in `solve`, but without history, and all in one
  /// walk over the matrix an iteration where the kernel has that. B and X are column-major.
  std::vector<cg_result> solve_many(const const_multivector_ref& b, const multivector_ref& x) const;
  /// Queues a whole solve, in a CUDA graph too. `record` is in the context's memory. Neither allocates nor waits. Where
  /// the recursive residual arrives before the true one, cg.operations ends NOT_CONVERGED, but goes on in `solve`.
  void enqueue(const const_vector_ref& b, const vector_ref& x, cg_record* record,
               std::optional<stream_view> stream = {}) const;

  /// New numbers in the same pattern, as any_spmv_plan::update_values: A's plan and the preconditioner follow. Throws
  /// INDEFINITE as the constructor, where finding out would not make a host wait for a device: else the next solve says
  /// so, at iteration 0, and names the row. A kernel that keeps a BSR in place (`explain` says which) reads the values
  /// that were lent at every solve: this then queues nothing, and new ones at the same address need no call. A caller's
  /// CUDA graph of `enqueue` has to be captured again where the plan stores values in fewer bits (any_spmv_plan), or
  /// block_jacobi its blocks.
  void update_values(const const_vector_ref& values);

  /// Where it runs.
  [[nodiscard]] const context& ctx() const noexcept;
  /// The name of its kernel in the solvers' table.
  [[nodiscard]] std::string_view kernel() const noexcept;
  /// One sentence: the solver's kernel and why, the preconditioner, and the plan's own sentence.
  [[nodiscard]] std::string explain() const;
  /// Bytes that the solver owns, its plan included.
  [[nodiscard]] std::size_t workspace_bytes() const noexcept;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace tulle
