/** @file
 * tulle's C API: A x = b. Included by tulle.h, which says what holds for all calls. */
#ifndef TULLE_TULLE_SOLVERS_H
#define TULLE_TULLE_SOLVERS_H

#include <tulle/tulle_core.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- A x = b for symmetric positive definite A, by preconditioned conjugate gradients ---- */

/** The plan of A, the preconditioner and the workspace: made once, solved with many times. One call at a time. */
typedef struct tulle_cg_solver tulle_cg_solver;

/** What stands for M^-1: preconditioner_kind in tulle/solvers/cg.hpp. */
typedef int32_t tulle_preconditioner;
enum {
  TULLE_PRECONDITIONER_JACOBI = 0,       /**< M = D, the diagonal */
  TULLE_PRECONDITIONER_NONE = 1,         /**< M = I */
  TULLE_PRECONDITIONER_BLOCK_JACOBI = 2, /**< M: the diagonal blocks */
  TULLE_PRECONDITIONER_CHEBYSHEV = 3     /**< a polynomial in D^-1 A */
};

/** Of TULLE_F64 matrices and vectors, what a solver iterates in: f64, or f32, where the residual and x stay f64 and x
 * is corrected until the residual is what was asked for; solver_precision in tulle/solvers/cg.hpp. MIXED takes one
 * right-hand side and no tulle_cg_solver_enqueue, and of preconditioners JACOBI and NONE: else UNSUPPORTED. */
typedef int32_t tulle_solver_precision;
enum {
  TULLE_SOLVER_PRECISION_UNIFORM = 0, /**< the vectors' own type */
  TULLE_SOLVER_PRECISION_MIXED = 1    /**< f32, corrected in f64 */
};

/** All zeros are the defaults. */
typedef struct tulle_cg_options {
  double rtol;              /**< done when ||b - A x|| is at most max(rtol ||b||, atol); 0 with an atol of 0: 1e-8 */
  double atol;              /**< the same as an absolute number */
  int32_t max_iterations;   /**< 0: 10000; -1: none */
  int32_t check_interval;   /**< iterations that are queued on a device between two looks of the host; 0: chosen */
  int32_t replace_interval; /**< iterations after which r = b - A x is computed anew; 0: chosen, -1: never */
  int32_t zero_guess;       /**< 1: x need not be set, the iteration starts from 0 */
  int32_t rtol_given;       /**< 1: rtol is meant as it is, so that 0 is 0 */
  int32_t keep_history;     /**< 1: for tulle_cg_solver_history; not of a batch */
  tulle_preconditioner preconditioner;  /**< TULLE_PRECONDITIONER_JACOBI unless it is set */
  int32_t block;                        /**< of BLOCK_JACOBI, 1 to 8; 0: chosen */
  int32_t degree;                       /**< of CHEBYSHEV, 1 to 100; 0: 3 */
  const char* kernel;                   /**< a name that `tulle kernels` prints; NULL or "": choose */
  int32_t rhs;                          /**< right-hand sides of tulle_cg_solver_solve_many, at most; 0: 1 */
  const tulle_scalar_type* vector_type; /**< of b and x, where it is not A's scalar type: TULLE_F64 where that is
                                           TULLE_F32. NULL: it is */
  /** Whether the solver may keep the unknowns in another order: never, where the iterations that may be expected repay it,
   * always. b and x are as before, as are rows in records. */
  tulle_spmv_reorder reorder;
  const struct tulle_permutation* order; /**< as in tulle_spmv_options */
  tulle_solver_precision precision;      /**< what to iterate in */
  double tolerance; /**< as in tulle_spmv_options: what is solved, and what residuals are of, is then the system that is
                       stored. MIXED does without it */
  tulle_error_bound bound; /**< of `tolerance` */
  int32_t whole_blocks; /**< 1: BLOCK_JACOBI stores no inverse of a block in bf16 or f32, as it does where the block's
                           condition is so small that its rounding changes the block by less than a tenth */
} tulle_cg_options;

/** How a solve ended. */
typedef struct tulle_cg_record {
  int32_t code;       /**< a tulle_status: SUCCESS, NOT_CONVERGED, INDEFINITE, BREAKDOWN or NOT_FINITE */
  int32_t iterations; /**< done when it ended; where the code names a failure, the iteration that found it */
  double residual;    /**< ||b - A x||, computed from x at the end */
  double rhs;         /**< ||b|| */
  int64_t row; /**< of a diagonal entry, or the first of a block, that a solve found not positive definite; else -1 */
} tulle_cg_record;

/** The plan of A, the preconditioner and the workspace: made once, solved with many times. A: n x n, TULLE_F32 or
 * TULLE_F64; that it is symmetric is not checked. `options` may be NULL. INDEFINITE names a diagonal entry or block
 * that is not positive definite. */
tulle_status tulle_cg_solver_create(const tulle_context* context, const tulle_csr* matrix,
                                    const tulle_cg_options* options, tulle_cg_solver** solver);
/** x holds the initial guess and, afterwards, the solution: `size` = n elements of the matrix's scalar type (or the
 * options' vector_type) in the context's memory, as b. Waits. `record` is on the host. What did not converge is
 * TULLE_STATUS_SUCCESS too: record->code tells. */
tulle_status tulle_cg_solver_solve(tulle_cg_solver* solver, const void* b, void* x, int64_t size,
                                   tulle_cg_record* record);
/** The same, queued on the context's stream: `record` is in the context's memory. Neither allocates nor waits, and can
 * be captured in a CUDA graph. Where the residual that is updated arrives before b - A x does, "cg.operations" ends
 * NOT_CONVERGED here, and goes on in tulle_cg_solver_solve, which looks. */
tulle_status tulle_cg_solver_enqueue(tulle_cg_solver* solver, const void* b, void* x, int64_t size,
                                     tulle_cg_record* record);
/** The norms of the residual that the last tulle_cg_solver_solve updated, before iteration 0, 1, ...: `count` doubles
 * on the host, valid until the next solve. None where options->keep_history was 0. */
tulle_status tulle_cg_solver_history(const tulle_cg_solver* solver, const double** residuals, int64_t* count);
/** A X = B for several right-hand sides, options->rhs at most, that go through the matrix together. Both are
 * TULLE_COLUMN_MAJOR; `records` has one for each, on the host. */
tulle_status tulle_cg_solver_solve_many(tulle_cg_solver* solver, const tulle_multivector* b, const tulle_multivector* x,
                                        tulle_cg_record* records);
/** New numbers in the same pattern, as in tulle_spmv_plan_update_values. A diagonal block that is not positive definite
 * is INDEFINITE here, or in the next solve where finding out would make the host wait for the device. */
tulle_status tulle_cg_solver_update_values(tulle_cg_solver* solver, const void* values, int64_t count,
                                           tulle_memory_space space);
/** One sentence: the solver's kernel, and why. Valid until the solver is destroyed or explained again. */
tulle_status tulle_cg_solver_explain(tulle_cg_solver* solver, const char** sentence);
/** Bytes that the solver owns, on the host or the device. */
tulle_status tulle_cg_solver_workspace(const tulle_cg_solver* solver, size_t* bytes);
/** The matrix that it was made of stays. */
void tulle_cg_solver_destroy(tulle_cg_solver* solver);

/* ---- A x = b where A is strictly diagonally dominant, by the weighted Jacobi method ---- */

/** Everything learnt about A x = b for one A: made once, solved with many times. One call at a time. */
typedef struct tulle_jacobi_solver tulle_jacobi_solver;

/** The order that a sweep works in; the iterates are the same but for rounding. */
typedef int32_t tulle_jacobi_form;
enum {
  TULLE_JACOBI_PLAIN = 0,    /**< as the matrix has them */
  TULLE_JACOBI_ROWS = 1,     /**< of rows alone, each stored where it belongs by the sweep */
  TULLE_JACOBI_SYMMETRIC = 2 /**< of rows and columns: b and x are moved before a solve, x after it */
};

/** All zeros are the defaults. */
typedef struct tulle_jacobi_options {
  double rtol;            /**< as in tulle_cg_options */
  double atol;            /**< as in tulle_cg_options */
  int32_t max_iterations; /**< 0: 10000; -1: none */
  int32_t check_interval; /**< iterations between two computations of the residual; 0: 10 */
  int32_t rtol_given;     /**< as in tulle_cg_options */
  double omega;           /**< x += omega D^-1 (b - A x); 0: 1 */
  tulle_jacobi_form form; /**< the order that a sweep works in */
  /** Of _ROWS and _SYMMETRIC; NULL: by the lengths of rows, reverse Cuthill-McKee. */
  const struct tulle_permutation* order;
  int32_t match;      /**< 1: first an order of the rows that brings large entries to the diagonal */
  const char* kernel; /**< of y = A x, a name that `tulle kernels` prints; NULL or "": choose */
  const tulle_scalar_type* vector_type; /**< as in tulle_cg_options, as what follows */
  tulle_solver_precision precision;     /**< what to iterate in */
  double tolerance;                     /**< as in tulle_cg_options */
  tulle_error_bound bound;              /**< of `tolerance` */
} tulle_jacobi_options;

/** As tulle_cg_solver_create; A need not be symmetric. INVALID_STRUCTURE names a row whose diagonal entry is 0 or
 * missing, or, of `match`, one of a structurally singular matrix. */
tulle_status tulle_jacobi_solver_create(const tulle_context* context, const tulle_csr* matrix,
                                        const tulle_jacobi_options* options, tulle_jacobi_solver** solver);
/** As tulle_cg_solver_solve; record->code is SUCCESS, NOT_CONVERGED or NOT_FINITE. */
tulle_status tulle_jacobi_solver_solve(tulle_jacobi_solver* solver, const void* b, void* x, int64_t size,
                                       tulle_cg_record* record);
/** New numbers in the same pattern, as in tulle_spmv_plan_update_values; orders stay. Waits. After INVALID_STRUCTURE,
 * as of _create, other values must come before the next solve. */
tulle_status tulle_jacobi_solver_update_values(tulle_jacobi_solver* solver, const void* values, int64_t count,
                                               tulle_memory_space space);
/** One sentence: the form, its order and the kernel. Valid until the solver is destroyed or explained again. */
tulle_status tulle_jacobi_solver_explain(tulle_jacobi_solver* solver, const char** sentence);
/** Bytes that the solver owns, on the host or the device. */
tulle_status tulle_jacobi_solver_workspace(const tulle_jacobi_solver* solver, size_t* bytes);
/** The matrix that it was made of stays. */
void tulle_jacobi_solver_destroy(tulle_jacobi_solver* solver);

/* ---- Many small systems at once: each is solved for itself, by one thread of a CPU or one block of threads of a GPU ---- */

/** The systems, made once for their patterns and solved with many times. One call at a time. */
typedef struct tulle_cg_batch tulle_cg_batch;

/** `count` systems with one pattern, that of `pattern`, whose own values do not count: `values` has those of all,
 * system after system, where the pattern is. In the context's memory they are read at every solve and must outlive the
 * batch or the next update; else they are copied. Of the options kernel, rhs, vector_type and reorder must not be set;
 * `options` may be NULL. UNSUPPORTED for TULLE_PRECONDITIONER_CHEBYSHEV and, on a GPU, for systems of more than about
 * 5000 unknowns. */
tulle_status tulle_cg_batch_create(const tulle_context* context, const tulle_csr* pattern, const void* values,
                                   int64_t count, const tulle_cg_options* options, tulle_cg_batch** batch);
/** `count` systems of any sizes, all of one scalar type. They are copied. */
tulle_status tulle_cg_batch_create_many(const tulle_context* context, const tulle_csr* const* matrices, int64_t count,
                                        const tulle_cg_options* options, tulle_cg_batch** batch);
/** As tulle_cg_solver_solve: b and x have the unknowns of all systems, one after the other, `records` one for each.
 * What is wrong with a system is told by its record alone, INDEFINITE with 0 iterations where its diagonal is not
 * positive. */
tulle_status tulle_cg_batch_solve(tulle_cg_batch* batch, const void* b, void* x, int64_t size,
                                  tulle_cg_record* records);
/** As tulle_cg_solver_enqueue. */
tulle_status tulle_cg_batch_enqueue(tulle_cg_batch* batch, const void* b, void* x, int64_t size,
                                    tulle_cg_record* records);
/** New numbers in the same patterns, system after system. */
tulle_status tulle_cg_batch_update_values(tulle_cg_batch* batch, const void* values, int64_t count,
                                          tulle_memory_space space);
/** Elements of b and x. */
tulle_status tulle_cg_batch_unknowns(const tulle_cg_batch* batch, int64_t* unknowns);
/** One sentence. Valid until the batch is destroyed or explained again. */
tulle_status tulle_cg_batch_explain(tulle_cg_batch* batch, const char** sentence);
/** Bytes that the batch owns, on the host or the device. */
tulle_status tulle_cg_batch_workspace(const tulle_cg_batch* batch, size_t* bytes);
/** Matrices that it was made of stay. */
void tulle_cg_batch_destroy(tulle_cg_batch* batch);

#ifdef __cplusplus
}
#endif

#endif
