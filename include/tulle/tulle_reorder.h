/** @file
 * tulle's C API: orders of rows, columns and unknowns. Included by tulle.h, which says what holds for all calls. */
#ifndef TULLE_TULLE_REORDER_H
#define TULLE_TULLE_REORDER_H

#include <tulle/tulle_core.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Permutations ---- */

/** A new order of n things: order[i] = j says that what was at j comes to i. It does not change. */
typedef struct tulle_permutation tulle_permutation;

/** Copies `size` numbers that are in the memory that `space` says. INVALID_ARGUMENT names the first number that is out
 * of range or there twice. */
tulle_status tulle_permutation_create(const tulle_context* context, const int32_t* order, int64_t size,
                                      tulle_memory_space space, tulle_permutation** permutation);
/** What is at order[i] comes back to i. */
tulle_status tulle_permutation_inverse(const tulle_permutation* permutation, tulle_permutation** inverse);
/** First this order, then `next` of what it gives. */
tulle_status tulle_permutation_then(const tulle_permutation* permutation, const tulle_permutation* next,
                                    tulle_permutation** both);
/** How many things it orders. */
tulle_status tulle_permutation_size(const tulle_permutation* permutation, int64_t* size);
/** The order, to host memory. */
tulle_status tulle_permutation_copy_out(const tulle_permutation* permutation, int32_t* order);
/** y[i] = x[order[i]]: x in the new order. Both have `size` elements, in the context's memory, apart. Queued on
 * the context's stream. */
tulle_status tulle_permutation_apply(const tulle_permutation* permutation, tulle_scalar_type scalar_type, const void* x,
                                     void* y, int64_t size);
/** Back in the old order: y[order[i]] = x[i]. */
tulle_status tulle_permutation_apply_inverse(const tulle_permutation* permutation, tulle_scalar_type scalar_type,
                                             const void* x, void* y, int64_t size);
/** Plans and solvers that were made with it stay. */
void tulle_permutation_destroy(tulle_permutation* permutation);

/** Row i of the new matrix is row rows[i] of A, A's column columns[j] becomes column j. NULL: as they are. Columns
 * ascend in every row where they did in A, and stay as they are where `columns` is NULL. */
tulle_status tulle_permute(const tulle_context* context, const tulle_csr* matrix, const tulle_permutation* rows,
                           const tulle_permutation* columns, tulle_csr** permuted);

/* ---- Orderings ---- */

/** The method that an order is found by. */
typedef int32_t tulle_ordering;
enum {
  TULLE_ORDER_NATURAL = 0,   /**< as the matrix has it */
  TULLE_ORDER_RCM = 1,       /**< reverse Cuthill-McKee: small bandwidth and profile */
  TULLE_ORDER_AMD = 2,       /**< approximate minimum degree, by SuiteSparse: little fill */
  TULLE_ORDER_ND = 3,        /**< nested dissection, by METIS: little fill, large systems */
  TULLE_ORDER_PARTITION = 4, /**< parts that fit a cache, by METIS */
  TULLE_ORDER_DEGREE = 5,    /**< neighbours ascending */
  TULLE_ORDER_LENGTH = 6,    /**< of rows: longest first inside windows */
  TULLE_ORDER_RANDOM = 7     /**< of rows */
};

/** All zeros are the defaults. */
typedef struct tulle_order_options {
  int64_t part_rows; /**< TULLE_ORDER_PARTITION: unknowns of a part; 0: what fits the cache */
  int64_t window;    /**< TULLE_ORDER_LENGTH: rows of a window; 0: 1024 */
  uint64_t seed;     /**< TULLE_ORDER_RANDOM */
} tulle_order_options;

/** An order of the unknowns of a square matrix, by the pattern of A + A^T; of the rows for _LENGTH and _RANDOM.
 * `options` may be NULL. INVALID_DIMENSIONS where A is not square, UNSUPPORTED where this build has not the library. */
tulle_status tulle_order(const tulle_context* context, const tulle_csr* matrix, tulle_ordering ordering,
                         const tulle_order_options* options, tulle_permutation** permutation);

/** How near entries are to the diagonal and to each other. Lines (128 bytes) and sectors (32 bytes) of x that lanes
 * side by side touch together, per nonzero: [0] a thread per row, [1] eight lanes per row, [2] a warp per row. */
typedef struct tulle_order_quality {
  int64_t bandwidth; /**< the greatest |i - j| */
  int64_t profile;   /**< sum over rows of i - the least j <= i */
  double lines[3];   /**< 128-byte lines of x, per nonzero */
  double sectors[3]; /**< 32-byte sectors of x, per nonzero */
} tulle_order_quality;

/** Counted on the host. */
tulle_status tulle_measure_order(const tulle_context* context, const tulle_csr* matrix, tulle_order_quality* quality);

#ifdef __cplusplus
}
#endif

#endif
