/** @file
 * tulle's C API: the sampled dense-dense product. Included by tulle.h, which says what holds for all calls. */
#ifndef TULLE_TULLE_SDDMM_H
#define TULLE_TULLE_SDDMM_H

#include <tulle/tulle_core.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- C = alpha P o (U V^T) + beta C, at the entries of a sparse matrix A ---- */

/** What is learnt of the pattern: made once, applied many times. One call at a time. */
typedef struct tulle_sddmm_plan tulle_sddmm_plan;

/** All zeros are the defaults. */
typedef struct tulle_sddmm_options {
  const char* kernel;   /**< a name that `tulle kernels` prints; NULL or "": choose */
  int32_t times_values; /**< 1: P is A, whose values are read; 0: P has ones */
  int32_t column_major; /**< 1: U or V will be column-major; the plan has room for transposing them, 128 bytes for each
                           row and column of A. Without it such calls are slower */
} tulle_sddmm_options;

/** What is learnt of A, TULLE_F32 or TULLE_F64. `options` may be NULL. A host matrix is copied to the device when the
 * context is a CUDA one. */
tulle_status tulle_sddmm_plan_create(const tulle_context* context, const tulle_csr* a, const tulle_sddmm_options* options,
                                     tulle_sddmm_plan** plan);
/** c[k] = alpha p_ij (row i of U . row j of V) + beta c[k] for the entry number k of A, which is (i, j). U is rows x
 * features, V cols x features, a tulle_multivector whose `count` are the features; c has as many elements as A has
 * entries. All are of A's scalar type, in the memory of the plan's context; c overlaps none of the others. beta = 0
 * overwrites c, NaN included. Queued on the context's stream: neither allocates nor synchronises. */
tulle_status tulle_sddmm_plan_apply(tulle_sddmm_plan* plan, double alpha, const tulle_multivector* u,
                                    const tulle_multivector* v, double beta, void* c, int64_t c_size);
/** Other values of A in the same pattern, as in tulle_spmv_plan_update_values. INVALID_ARGUMENT without times_values.
 */
tulle_status tulle_sddmm_plan_update_values(tulle_sddmm_plan* plan, const void* values, int64_t count,
                                            tulle_memory_space space);
/** One sentence: the kernel, and why. Valid until the plan is destroyed or explained again. */
tulle_status tulle_sddmm_plan_explain(tulle_sddmm_plan* plan, const char** sentence);
/** The kernel's name. Valid until the plan is destroyed. */
tulle_status tulle_sddmm_plan_kernel(const tulle_sddmm_plan* plan, const char** name);
/** Bytes that the plan owns, on the host or the device. */
tulle_status tulle_sddmm_plan_workspace(const tulle_sddmm_plan* plan, size_t* bytes);
/** The matrix that it was made of stays. */
void tulle_sddmm_plan_destroy(tulle_sddmm_plan* plan);

/** The same in one call, with P of ones; waits for the result. */
tulle_status tulle_sddmm(const tulle_context* context, const tulle_csr* a, const tulle_multivector* u,
                         const tulle_multivector* v, void* c, int64_t c_size);

#ifdef __cplusplus
}
#endif

#endif
