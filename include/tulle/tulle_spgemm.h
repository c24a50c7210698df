/** @file
 * tulle's C API: products of matrices. Included by tulle.h, which says what holds for all calls. */
#ifndef TULLE_TULLE_SPGEMM_H
#define TULLE_TULLE_SPGEMM_H

#include <tulle/tulle_core.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- C = M o (alpha A B) + beta D ---- */

/** What is learnt about the product: made once, for as many sets of numbers as wanted. One call at a time. */
typedef struct tulle_spgemm_plan tulle_spgemm_plan;

/** All zeros are the defaults. */
typedef struct tulle_spgemm_options {
  const char* kernel;      /**< a name that `tulle kernels` prints; NULL or "": choose */
  int32_t transpose_a;     /**< 1: A^T B */
  int32_t transpose_b;     /**< 1: A B^T */
  size_t memory_limit;     /**< bytes to hold at most beyond A, B, C and copies of operands (transposed, sorted, on the
                              device); 0: no limit. C is the same bit for bit. A limit that one row passes is
                              OUT_OF_MEMORY, and the message says what that row needed */
  int32_t eliminate_zeros; /**< 1: drop the entries of C that are 0, as those that cancel are; C keeps them otherwise.
                              Not with tulle_spgemm_plan_numeric and _multiply_into */
  const tulle_csr* mask;   /**< M, or NULL: only the entries of A B that are in its pattern */
  const tulle_csr* d;      /**< D, or NULL: C has its entries as well; not masked */
} tulle_spgemm_options;

/** What is learnt about the product: made once, for as many sets of numbers as wanted. `options` may be NULL. All
 * matrices hold the same scalar type; sums of TULLE_I32 are taken modulo 2^32. alpha and beta as in
 * tulle_spmv_plan_apply. A mask, and any kernel but the one that is chosen, is UNSUPPORTED for complex numbers,
 * TULLE_I64 and TULLE_BOOL. Those on the host are copied when the context is a CUDA one. INVALID_DIMENSIONS where they
 * do not fit each other, UNSUPPORTED where the kernel named cannot do it. */
tulle_status tulle_spgemm_plan_create(const tulle_context* context, const tulle_csr* a, const tulle_csr* b,
                                      const tulle_spgemm_options* options, tulle_spgemm_plan** plan);
/** Counts the entries of C. The calls below do that where it was not done. */
tulle_status tulle_spgemm_plan_symbolic(tulle_spgemm_plan* plan, int64_t* nnz);
/** A new C in the context's memory, its rows sorted; 64-bit offsets only where nnz needs them. It may outlive the plan.
 * Every (i, j) for which a product a_ik b_kj or an entry of D is stored has an entry, also where the sum is 0. beta
 * must be 0 where there is no D. */
tulle_status tulle_spgemm_plan_multiply(tulle_spgemm_plan* plan, double alpha, double beta, tulle_csr** c);
/** The same into arrays of the caller, in the memory of the plan's context, once tulle_spgemm_plan_symbolic has said
 * how long they must be: rows + 1 offsets of `offset_type`, nnz columns, nnz values. */
tulle_status tulle_spgemm_plan_multiply_into(tulle_spgemm_plan* plan, double alpha, double beta,
                                             tulle_offset_type offset_type, void* rowptr, int32_t* colind,
                                             void* values);
/** The values of a C that this plan made, anew from the present values of A, B and D: no symbolic work. */
tulle_status tulle_spgemm_plan_numeric(tulle_spgemm_plan* plan, double alpha, double beta, tulle_csr* c);
/** Other numbers in the same patterns, in the order of A, B and D, in the memory of the plan's context; `d` is NULL
 * where there is no D. They must outlive the plan or the next update. */
tulle_status tulle_spgemm_plan_update_values(tulle_spgemm_plan* plan, const void* a, const void* b, const void* d);
/** One sentence: the kernel, and why. Valid until the plan is destroyed or explained again. */
tulle_status tulle_spgemm_plan_explain(tulle_spgemm_plan* plan, const char** sentence);
/** The kernel's name. Valid until the plan is destroyed. */
tulle_status tulle_spgemm_plan_kernel(const tulle_spgemm_plan* plan, const char** name);
/** Multiplications a_ik b_kj. */
tulle_status tulle_spgemm_plan_products(tulle_spgemm_plan* plan, int64_t* products);
/** Bytes that the plan owns now, on the host or the device. */
tulle_status tulle_spgemm_plan_workspace(const tulle_spgemm_plan* plan, size_t* bytes);
/** The operands stay, and so do products that it made. */
void tulle_spgemm_plan_destroy(tulle_spgemm_plan* plan);

/** C = A B in one call. */
tulle_status tulle_spgemm(const tulle_context* context, const tulle_csr* a, const tulle_csr* b, tulle_csr** c);
/** C = R A P by panels of rows of R, so that neither R A nor A P ever exists whole: the Galerkin product of algebraic
 * multigrid. `options` may be NULL; its transposes must be 0, its mask and d NULL. */
tulle_status tulle_triple_product(const tulle_context* context, const tulle_csr* r, const tulle_csr* a,
                                  const tulle_csr* p, const tulle_spgemm_options* options, tulle_csr** c);

/** What a product will take, before it is made. */
typedef struct tulle_spgemm_estimate {
  int64_t products;     /**< multiplications a_ik b_kj */
  int64_t nnz_bound;    /**< nnz(C) is at most this */
  int64_t nnz;          /**< and about this, from rows that were counted */
  size_t c_bytes_bound; /**< C takes at most this */
} tulle_spgemm_estimate;
/** Of C = A B. Costs a pass over A and the exact count of about a thousand rows. `options` may be NULL; its mask and d
 * must be. */
tulle_status tulle_estimate_spgemm(const tulle_context* context, const tulle_csr* a, const tulle_csr* b,
                                   const tulle_spgemm_options* options, tulle_spgemm_estimate* estimate);

#ifdef __cplusplus
}
#endif

#endif
