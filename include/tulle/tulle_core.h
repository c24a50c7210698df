/** @file
 * tulle's C API: statuses, contexts, buffers, matrices, y = alpha A x + beta y. Included by tulle.h, which says what
 * holds for all calls. */
#ifndef TULLE_TULLE_CORE_H
#define TULLE_TULLE_CORE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Statuses ---- */

/** Why a call failed. The numbers do not change. */
typedef enum tulle_status {
  TULLE_STATUS_SUCCESS = 0,          /**< the call did what it says */
  TULLE_STATUS_NULL_POINTER = 1,     /**< an argument that must point to something is null */
  TULLE_STATUS_INVALID_ARGUMENT = 2, /**< an argument that is wrong by itself: a name, a number, the memory it is in */
  TULLE_STATUS_INVALID_DIMENSIONS = 3,   /**< sizes that do not fit each other */
  TULLE_STATUS_INVALID_STRUCTURE = 4,    /**< offsets or indices of a matrix that are not those of a matrix */
  TULLE_STATUS_INVALID_FORMAT = 5,       /**< a file that is not what it claims; the message names the line */
  TULLE_STATUS_FILE_IO = 6,              /**< a file that cannot be opened, read or written */
  TULLE_STATUS_OUT_OF_MEMORY = 7,        /**< of the host, or beyond a limit that was set */
  TULLE_STATUS_DEVICE_OUT_OF_MEMORY = 8, /**< of the GPU */
  TULLE_STATUS_CUDA_MEMCPY = 9,          /**< a copy from, to or on a device failed */
  TULLE_STATUS_KERNEL_LAUNCH = 10,       /**< a device could not run what it was given */
  TULLE_STATUS_UNSUPPORTED = 11,         /**< right, but not to be had here: no such device, type or combination */
  TULLE_STATUS_NOT_CONVERGED = 12,       /**< a solver came to its last iteration */
  TULLE_STATUS_BREAKDOWN = 13,           /**< a solver cannot go on: a number that must be positive is not */
  TULLE_STATUS_INDEFINITE = 14,          /**< a matrix that must be positive definite is not */
  TULLE_STATUS_NOT_FINITE = 15,          /**< a NaN or an infinity where none may be */
  TULLE_STATUS_OVERFLOW = 16,            /**< a size or a value that does not fit its type */
  TULLE_STATUS_INTERNAL = 17             /**< a defect of tulle */
} tulle_status;

/** "INVALID_ARGUMENT" for TULLE_STATUS_INVALID_ARGUMENT; "UNKNOWN" for a number that is no status. */
const char* tulle_status_name(tulle_status status);
/** What this thread's last failed call had to say: it names the argument, line or row. "" before the first failure.
 * Valid until this thread's next failed call. */
const char* tulle_last_error_message(void);
/** "0.1.0" */
const char* tulle_version(void);

/* ---- Contexts: where work runs ---- */

/** A backend, a stream and a source of memory. */
typedef struct tulle_context tulle_context;

/** TULLE_HOST or TULLE_DEVICE. */
typedef int32_t tulle_memory_space;
enum {
  TULLE_HOST = 0,   /**< memory that the CPU reads */
  TULLE_DEVICE = 1  /**< memory of a CUDA device */
};

/** The GPU where there is one that this build can use, else all cores. */
tulle_status tulle_context_create_best(tulle_context** context);
/** threads = 0: as many as OpenMP would use, 64 or four times the cores at most. Threads that the system refuses to
 * start are done without. */
tulle_status tulle_context_create_cpu(int threads, tulle_context** context);
/** On a stream of its own. UNSUPPORTED without CUDA or without a GPU. */
tulle_status tulle_context_create_cuda(int device, tulle_context** context);
/** On the caller's cudaStream_t (NULL: the default stream), which must outlive everything made with the context. */
tulle_status tulle_context_create_cuda_stream(int device, void* stream, tulle_context** context);
/** Where x, y and buffers of this context live: TULLE_HOST for the CPU, TULLE_DEVICE for CUDA. */
tulle_status tulle_context_space(const tulle_context* context, tulle_memory_space* space);
/** Waits for everything queued on the context's stream. */
tulle_status tulle_context_synchronize(const tulle_context* context);
/** What was made with the context may outlive it. */
void tulle_context_destroy(tulle_context* context);

/* ---- Buffers: memory of a context, for programs without CUDA headers of their own ---- */

/** Bytes in the memory of a context. */
typedef struct tulle_buffer tulle_buffer;

/** `bytes` uninitialised bytes, aligned to at least 64. */
tulle_status tulle_buffer_create(const tulle_context* context, size_t bytes, tulle_buffer** buffer);
/** Copies the first `bytes` bytes from host memory, in stream order; `host` may be touched again on return. */
tulle_status tulle_buffer_copy_in(tulle_buffer* buffer, const void* host, size_t bytes);
/** The other way round: to host memory. */
tulle_status tulle_buffer_copy_out(const tulle_buffer* buffer, void* host, size_t bytes);
/** The pointer to hand to tulle_spmv_plan_apply: a device pointer for CUDA. NULL for a buffer of 0 bytes. */
tulle_status tulle_buffer_data(tulle_buffer* buffer, void** data);
/** Frees the memory in the order of the context's stream. */
void tulle_buffer_destroy(tulle_buffer* buffer);

/* ---- Matrices in compressed sparse rows ---- */

/** Of values. TULLE_C64 and TULLE_C128 are complex numbers, the real part before the imaginary one (C's float _Complex,
 * double _Complex). TULLE_I64 wraps modulo 2^64 as TULLE_I32 modulo 2^32. TULLE_BOOL is one byte, 0 or 1, whose sum is
 * "or" and whose product is "and"; any other byte than 0 counts as 1. The last four have y = alpha A x + beta y,
 * several right-hand sides, C = alpha A B + beta D, transposes, sums, orders, conversions and files; what lacks them
 * (kernels that store values otherwise, masks, blocks, dot products, solvers) refuses them by name. alpha and
 * beta are real numbers for all types. */
typedef int32_t tulle_scalar_type;
enum {
  TULLE_F32 = 0,  /**< float */
  TULLE_F64 = 1,  /**< double */
  TULLE_I32 = 2,  /**< int32_t */
  TULLE_I64 = 3,  /**< int64_t */
  TULLE_C64 = 4,  /**< two float */
  TULLE_C128 = 5, /**< two double */
  TULLE_BOOL = 6  /**< a byte */
};

/** Of positions among the nonzeros: TULLE_OFFSET_I32, or TULLE_OFFSET_I64 where there may be 2^31 of them. */
typedef int32_t tulle_offset_type;
enum {
  TULLE_OFFSET_I32 = 0, /**< int32_t */
  TULLE_OFFSET_I64 = 1  /**< int64_t */
};

/** The arrays of a CSR matrix. Row r holds entries rowptr[r] .. rowptr[r + 1] - 1 (both less index_base); columns need
 * be neither sorted nor unique. */
typedef struct tulle_csr_arrays {
  int64_t rows;                  /**< below 2^31 */
  int64_t cols;                  /**< below 2^31 */
  int64_t nnz;                   /**< stored entries */
  tulle_scalar_type scalar_type; /**< of values */
  tulle_offset_type offset_type; /**< of rowptr */
  int32_t index_base;            /**< 0, or 1 as in Fortran */
  tulle_memory_space space;      /**< of the three arrays */
  const void* rowptr;            /**< rows + 1 offsets */
  const int32_t* colind;         /**< nnz; may be NULL where nnz is 0 */
  const void* values;            /**< nnz; may be NULL where nnz is 0 */
} tulle_csr_arrays;

/** A matrix in compressed sparse rows, on the host or on a device. */
typedef struct tulle_csr tulle_csr;

/** A copy of the arrays in the context's memory. Both this and borrowing check the whole matrix: offsets that are not
 * monotone or an index out of range give INVALID_STRUCTURE naming the (0-based) row. Device arrays need a CUDA context,
 * and must be ready when the call is made. */
tulle_status tulle_csr_copy(const tulle_context* context, const tulle_csr_arrays* arrays, tulle_csr** matrix);
/** Without a copy: the arrays must outlive the matrix and every plan made from it. With index_base 1 offsets and
 * columns are copied (and made 0-based), and only the values are borrowed. */
tulle_status tulle_csr_borrow(const tulle_context* context, const tulle_csr_arrays* arrays, tulle_csr** matrix);
/** The same without a look at the contents: the caller vouches for them, and broken ones are undefined behaviour. A
 * plan that is made of the matrix looks at them, unless its effort is TULLE_EFFORT_NONE. */
tulle_status tulle_csr_borrow_trusted(const tulle_context* context, const tulle_csr_arrays* arrays,
                                      tulle_csr** matrix);
/** A Matrix Market file (.mtx, .mtx.gz, .mtx.zst, .mtx.xz) as a CSR with 64-bit offsets in the context's memory.
 * UNSUPPORTED for complex values as real ones, and for TULLE_BOOL. */
tulle_status tulle_csr_read_matrix_market(const tulle_context* context, const char* path, tulle_scalar_type scalar_type,
                                          tulle_csr** matrix);
/** What the matrix holds, always with index_base 0. The pointers are the matrix's own. */
tulle_status tulle_csr_get_arrays(const tulle_csr* matrix, tulle_csr_arrays* arrays);
/** The arrays in host memory, wherever the matrix is: rows + 1 offsets of the matrix's offset_type, nnz columns, nnz
 * values. Any of the three may be NULL, and is then left out. `context` is one that can reach the matrix. */
tulle_status tulle_csr_copy_out(const tulle_context* context, const tulle_csr* matrix, void* rowptr, int32_t* colind,
                                void* values);
/** Plans made from the matrix keep what they need of it. */
void tulle_csr_destroy(tulle_csr* matrix);

/** How several vectors or a dense matrix lie: TULLE_ROW_MAJOR or TULLE_COLUMN_MAJOR. */
typedef int32_t tulle_vector_order;
enum {
  TULLE_ROW_MAJOR = 0,    /**< element i of all vectors side by side */
  TULLE_COLUMN_MAJOR = 1  /**< the elements of a vector side by side */
};

/* ---- Other formats ---- */

/** What tulle_csr_convert takes. */
typedef int32_t tulle_format;
enum {
  TULLE_COO = 0,     /**< coordinates */
  TULLE_CSC = 1,     /**< compressed sparse columns */
  TULLE_BSR = 2,     /**< compressed rows of dense blocks */
  TULLE_DENSE = 3,   /**< every element */
  TULLE_BIN_BSR = 4  /**< bins of 32 rows of dense blocks */
};

/** The arrays of a matrix in another format, with indices from 0, in the memory that `space` says. What a format does
 * not have stays 0. Values are of `scalar_type`, offsets of `offset_type`. */
typedef struct tulle_matrix_arrays {
  tulle_format format;           /**< says which of the members count */
  int64_t rows;                  /**< in scalars */
  int64_t cols;                  /**< in scalars */
  int64_t nnz;                   /**< COO and CSC: entries; BSR: blocks; BIN_BSR: slots; DENSE: not read */
  tulle_scalar_type scalar_type; /**< of values */
  tulle_offset_type offset_type; /**< of CSC and BSR; BIN_BSR: TULLE_OFFSET_I64 */
  tulle_memory_space space;      /**< of all the arrays */
  const void* offsets;           /**< CSC: cols + 1; BSR: block rows + 1; BIN_BSR: 32 for every 32 rows, and 32 */
  const int32_t* rowind;         /**< COO, CSC: nnz */
  const int32_t* colind;         /**< COO: nnz; BSR: nnz, in blocks; BIN_BSR: colptr, nnz, -1 where a slot is unused */
  const void* values;            /**< COO, CSC: nnz; BSR: nnz * block * block, each block by rows; BIN_BSR: nnz * block;
                                    DENSE: see ld */
  int32_t block;                 /**< BSR: rows of a block, 2 to 8; BIN_BSR: 1 to 8 */
  tulle_vector_order order;      /**< DENSE */
  int64_t ld;                    /**< DENSE: element (i, j) is at i * ld + j by rows, at i + j * ld by columns */
} tulle_matrix_arrays;

/** A CSR of its own in the context's memory, its structure checked. Duplicates stay; of a dense matrix those elements
 * that are not 0 become entries, and of blocks all. */
tulle_status tulle_csr_convert(const tulle_context* context, const tulle_matrix_arrays* arrays, tulle_csr** matrix);
/** Row indices of the entries, beside which colind and values of tulle_csr_copy_out are a COO: nnz of them, to the
 * host. */
tulle_status tulle_csr_copy_out_rows(const tulle_context* context, const tulle_csr* matrix, int32_t* rowind);
/** The dense matrix, in host memory: every element is written, duplicates added up. */
tulle_status tulle_csr_copy_out_dense(const tulle_context* context, const tulle_csr* matrix, tulle_vector_order order,
                                      int64_t ld, void* values);
/** As blocks of `block` rows (2 to 8), to the host: block rows + 1 64-bit offsets, columns in blocks, values. `blocks`
 * is how many there are; arrays that are NULL are left out, so that a first call counts. */
tulle_status tulle_csr_copy_out_bsr(const tulle_context* context, const tulle_csr* matrix, int32_t block,
                                    int64_t* blocks, int64_t* rowptr, int32_t* colind, void* values);

/** As bins of 32 rows in blocks of `block` (1 to 8), laid out as bin_bsr_view in tulle/formats/views.hpp says, to the
 * host: 32 64-bit offsets for every 32 rows and 32 more, the column of every slot, `block` values a slot. `slots` is
 * how many there are; arrays that are NULL are left out. */
tulle_status tulle_csr_copy_out_bin_bsr(const tulle_context* context, const tulle_csr* matrix, int32_t block,
                                        int64_t* slots, int64_t* rowptr, int32_t* colptr, void* values);

/* ---- Blocks from an unordered list of pairs. The pattern is found once, its values are summed as often as they change ---- */

/** Which blocks there are, and which pairs add to each. */
typedef struct tulle_block_pattern tulle_block_pattern;

/** Pair p says that there is a block in row rowind[p] and column colind[p], in blocks; any order, duplicates allowed.
 */
typedef struct tulle_block_pairs {
  int64_t block_rows;    /**< rows of the matrix, in blocks */
  int64_t block_cols;    /**< columns of the matrix, in blocks */
  int64_t pairs;         /**< how many there are */
  const int32_t* rowind; /**< pairs, in the context's memory, as colind */
  const int32_t* colind; /**< pairs */
  int32_t block;         /**< rows of a block, 1 to 8 */
  int32_t symmetric;     /**< 1: a pair (i, j), i != j, stands for (j, i) too, with the transposed values */
  int32_t diagonal;      /**< 1: every (i, i) is there */
} tulle_block_pairs;

/** A pair that is out of range gives INVALID_STRUCTURE with its number. */
tulle_status tulle_block_pattern_create(const tulle_context* context, const tulle_block_pairs* pairs,
                                        tulle_block_pattern** pattern);
/** The pattern as a BSR, in the context's memory: block rows + 1 offsets, a column (in blocks) for each of `blocks`.
 * The pointers are the pattern's own; any argument but the pattern may be NULL. */
tulle_status tulle_block_pattern_get_arrays(const tulle_block_pattern* pattern, int64_t* blocks, const int64_t** rowptr,
                                            const int32_t** colind);
/** The values of that BSR, block * block for each block by rows: the sums of those of the pairs, `values`, as many for
 * each, by rows; both in the context's memory. Sums keep the order of the pairs. Queued on the context's stream. */
tulle_status tulle_block_pattern_assemble(const tulle_block_pattern* pattern, tulle_scalar_type scalar_type,
                                          const void* values, void* block_values);
/** Matrices that were assembled from the pattern stay. */
void tulle_block_pattern_destroy(tulle_block_pattern* pattern);

/* ---- Matrices made of matrices. Each result is a new CSR in the context's memory ---- */

/** The transpose, its rows sorted. Its arrays are also the CSC of the matrix. */
tulle_status tulle_csr_transpose(const tulle_context* context, const tulle_csr* matrix, tulle_csr** transpose);
/** alpha A + beta B; rows sorted, sums that are 0 kept. */
tulle_status tulle_csr_add(const tulle_context* context, double alpha, const tulle_csr* a, double beta,
                           const tulle_csr* b, tulle_csr** sum);
/** Every row in order of its columns, stable. */
tulle_status tulle_csr_sort(const tulle_context* context, const tulle_csr* matrix, tulle_csr** sorted);
/** The same, and duplicates added up in their order. */
tulle_status tulle_csr_sum_duplicates(const tulle_context* context, const tulle_csr* matrix, tulle_csr** summed);
/** Without the entries that are 0; NaN stays. */
tulle_status tulle_csr_eliminate_zeros(const tulle_context* context, const tulle_csr* matrix, tulle_csr** smaller);

/* ---- What a matrix is ---- */

/** What tulle_csr_validate finds. */
typedef int32_t tulle_data_status;
enum {
  TULLE_DATA_SUCCESS = 0,            /**< nothing was found */
  TULLE_DATA_INF = 1,                /**< a value is infinite */
  TULLE_DATA_NAN = 2,                /**< a value is NaN */
  TULLE_DATA_INVALID_OFFSETS = 3,    /**< offsets do not ascend from 0 to nnz */
  TULLE_DATA_INDEX_OUT_OF_RANGE = 4, /**< an index is negative or not below the dimension */
  TULLE_DATA_DUPLICATE = 5,          /**< a place is there twice */
  TULLE_DATA_UNSORTED = 6            /**< an index is below the one before it in its row */
};
/** Further findings that count, in `checks`. */
enum {
  TULLE_CHECK_SORTED = 1,     /**< columns ascend within each row */
  TULLE_CHECK_DUPLICATES = 2, /**< no column twice in a row */
  TULLE_CHECK_FINITE = 4      /**< no NaN, no infinity */
};

/** The first finding in row order, and its row and entry (-1 where it has none); either may be NULL. */
tulle_status tulle_csr_validate(const tulle_context* context, const tulle_csr* matrix, int32_t checks,
                                tulle_data_status* found, int64_t* row, int64_t* entry);

/** What `tulle info` prints; ratios are 1 where there is nothing to divide by. */
typedef struct tulle_csr_statistics {
  int64_t rows;          /**< of the matrix */
  int64_t cols;          /**< of the matrix */
  int64_t nnz;           /**< stored entries */
  int64_t max_row;       /**< entries of the longest row */
  int64_t empty_rows;    /**< rows without an entry */
  int64_t bandwidth;     /**< max |i - j| over the entries */
  double mean_row;       /**< entries per row */
  double stddev_row;     /**< of the entries per row */
  double ell_padding;    /**< slots of ELL / nnz */
  double sell_padding;   /**< slots of SELL-32, sorted within windows of 1024 rows / nnz */
  double gather_sectors; /**< 32-byte sectors of x that 32 consecutive entries touch, mean */
} tulle_csr_statistics;
/** One pass over the offsets and one over the columns, on the context's backend. */
tulle_status tulle_csr_get_statistics(const tulle_context* context, const tulle_csr* matrix,
                                      tulle_csr_statistics* statistics);

/** Coordinate format, shortest digits that read back to the same number; names that end in .gz, .zst or .xz are
 * compressed. symmetric = 1 writes the lower triangle, and INVALID_ARGUMENT where the matrix is not symmetric (a complex
 * one: nor hermitian, which the file then says). */
tulle_status tulle_csr_write_matrix_market(const tulle_context* context, const tulle_csr* matrix, const char* path,
                                           int32_t symmetric);

/* ---- Kernels: the names that plans take ---- */

/** One kernel, as `tulle kernels` lists it. */
typedef struct tulle_kernel_info {
  const char* name;      /**< all three live as long as the program */
  const char* summary;   /**< one sentence */
  const char* operation; /**< "y = A x", "y = A^T x", "C = A B", "C = A o (U V^T)", "A x = b" */
  int32_t chosen;        /**< 1: a plan may choose it; 0: it runs where it is named */
  int32_t deterministic; /**< 1: the same bits on every run */
} tulle_kernel_info;
/** How many kernels the context's backend has. */
tulle_status tulle_kernel_count(const tulle_context* context, int64_t* count);
/** The kernel number `index`, from 0; INVALID_ARGUMENT where there is none. */
tulle_status tulle_kernel_at(const tulle_context* context, int64_t index, tulle_kernel_info* kernel);

/* ---- y = alpha A x + beta y ---- */

/** What is learnt about y = A x: made once, applied many times. One call at a time. */
typedef struct tulle_spmv_plan tulle_spmv_plan;

/** Analyses A and chooses a kernel, or takes the one named (a name that `tulle kernels` prints; NULL or "": choose).
 * A host matrix is copied to the device when the context is a CUDA one. */
tulle_status tulle_spmv_plan_create(const tulle_context* context, const tulle_csr* matrix, const char* kernel,
                                    tulle_spmv_plan** plan);

/** How much work making a plan may cost; spmv_effort in tulle/ops/spmv.hpp says what each does. */
typedef int32_t tulle_spmv_effort;
enum {
  TULLE_EFFORT_STANDARD = 0, /**< about 20 applications */
  TULLE_EFFORT_NONE = 1,     /**< about 0: nothing is validated */
  TULLE_EFFORT_MAX = 2       /**< up to 500 more than standard */
};

struct tulle_permutation; /* tulle_reorder.h: tulle_order makes one by name, tulle_permutation_create of any numbers */

/** Whether a plan may keep rows and columns in another order inside; spmv_reorder in tulle/ops/spmv_options.hpp. */
typedef int32_t tulle_spmv_reorder;
enum {
  TULLE_REORDER_NEVER = 0,  /**< no */
  TULLE_REORDER_AUTO = 1,   /**< where it was measured to pay */
  TULLE_REORDER_ALWAYS = 2  /**< yes */
};

/** What a tolerance is a share of; error_bound in tulle/ops/spmv_options.hpp. */
typedef int32_t tulle_error_bound;
enum {
  TULLE_BOUND_COMPONENTWISE = 0, /**< of each value */
  TULLE_BOUND_ROW = 1,           /**< of the norm of each row */
  TULLE_BOUND_NORM = 2           /**< of the matrix's norm */
};

/** All zeros are the defaults. */
typedef struct tulle_spmv_options {
  const char* kernel;       /**< as in tulle_spmv_plan_create */
  tulle_spmv_effort effort; /**< how much work the plan may cost */
  int32_t transpose; /**< 1: the plan multiplies by the transpose of A, so that x has rows and y has cols elements. With
                        TULLE_EFFORT_NONE on a GPU it adds by atomics: floating-point results may differ from run to run
                        within the error bound. */
  const tulle_scalar_type* vector_type; /**< of x and y, where it is not A's scalar type; NULL: it is. UNSUPPORTED where
                                           no kernel has the combination */
  tulle_spmv_reorder reorder;           /**< whether the plan may keep rows and columns in another order */
  const struct tulle_permutation* order; /**< that `reorder` is about, of the rows and columns of a square matrix; it
                                            may be destroyed afterwards. NULL: reverse Cuthill-McKee */
  double tolerance; /**< of TULLE_F64 values: how much storing them in fewer bits may add to the error, below 1. 0:
                       every value keeps all its bits */
  tulle_error_bound bound; /**< of `tolerance` */
  int64_t columns; /**< right-hand sides that tulle_spmv_plan_apply_many will be given at once; any other number works
                      too, and on a GPU at effort max kernels are measured for so many. 0: not known: on a GPU there may
                      be room for column-major ones: for 8 at most as much as the matrix, for more half as much, but
                      always up to 8 MB and 1/2048 of the device's memory; for results as much again. 1: none */
  tulle_vector_order columns_order; /**< how they lie. On a GPU column-major ones cost memory for as many vectors */
  int32_t conjugate; /**< 1: by the conjugates of A's values; with `transpose` by the conjugate transpose */
} tulle_spmv_options;

/** The same with options; NULL stands for the defaults. */
tulle_status tulle_spmv_plan_create_with(const tulle_context* context, const tulle_csr* matrix,
                                         const tulle_spmv_options* options, tulle_spmv_plan** plan);

/** x has cols and y has rows elements of the matrix's scalar type (or the plan's vector_type), in the memory of the
 * plan's context; they must not overlap. beta = 0 overwrites y, NaN included. Queued on the context's stream: neither
 * allocates nor synchronises. alpha and beta must be whole numbers of 32 bits for TULLE_I32, of at most 2^53 for
 * TULLE_I64, 0 or 1 for TULLE_BOOL. */
tulle_status tulle_spmv_plan_apply(tulle_spmv_plan* plan, double alpha, const void* x, int64_t x_size, double beta,
                                   void* y, int64_t y_size);

/** `count` dense vectors of `rows` elements each. Element i of vector j is at data[i * ld + j] when TULLE_ROW_MAJOR (ld
 * is at least count), at data[i + j * ld] when TULLE_COLUMN_MAJOR (ld is at least rows). */
typedef struct tulle_multivector {
  int64_t rows;             /**< elements of each vector */
  int64_t count;            /**< vectors */
  int64_t ld;               /**< from one row or vector to the next, in elements */
  tulle_vector_order order; /**< how they lie */
  void* data;               /**< of the type of the plan's vectors, in the memory of its context */
} tulle_multivector;

/** Y = alpha A X + beta Y for several right-hand sides at once; each vector as in tulle_spmv_plan_apply. X is not
 * written to, and X and Y may be in different orders. */
tulle_status tulle_spmv_plan_apply_many(tulle_spmv_plan* plan, double alpha, const tulle_multivector* x, double beta,
                                        const tulle_multivector* y);
/** What is done to alpha A X + beta Y before it is stored; NaN stays. */
typedef int32_t tulle_activation;
enum {
  TULLE_ACTIVATION_NONE = 0, /**< nothing */
  TULLE_ACTIVATION_RELU = 1  /**< max(0, .); NaN stays */
};
/** Y = act(alpha A X + beta Y + 1 b^T): a layer of a graph convolution. bias is b, y->count elements where x and y are
 * and of their type, TULLE_F32 or TULLE_F64; NULL: none. In the same pass where the kernel has it, as those that are
 * chosen by default do, else in one of its own over Y. */
tulle_status tulle_spmv_plan_apply_many_with(tulle_spmv_plan* plan, double alpha, const tulle_multivector* x, double beta,
                                             const tulle_multivector* y, const void* bias, tulle_activation act);
/** y = alpha A x + beta y, and from the same pass dots[0] = w . y and dots[1] = y . y of the new y. w has y_size
 * elements and may be x; dots has 2, where x and y are. UNSUPPORTED where the kernel has no such pass: those that are
 * chosen by default have it, for TULLE_F32 and TULLE_F64. */
tulle_status tulle_spmv_plan_apply_dots(tulle_spmv_plan* plan, double alpha, const void* x, int64_t x_size, double beta,
                                        void* y, int64_t y_size, const void* w, void* dots);
/** One step of the weighted Jacobi method, y = x + omega D^-1 (b - A x); inverse_diagonal holds 1 / a_ii. All vectors
 * have `size` elements, A is square, and y overlaps none of the others. UNSUPPORTED as above. */
tulle_status tulle_spmv_plan_jacobi(tulle_spmv_plan* plan, double omega, const void* x, const void* b,
                                    const void* inverse_diagonal, void* y, int64_t size);
/** New numbers (as many as A has nonzeros, in A's order and of its scalar type) in the same pattern. Values are read at
 * planning and at this call, and a kernel may read them again in any application: they must outlive the plan or the
 * next call of this. After values have changed in place, results are unspecified until this was called with them. */
tulle_status tulle_spmv_plan_update_values(tulle_spmv_plan* plan, const void* values, int64_t count,
                                           tulle_memory_space space);
/** One sentence: the kernel, and why. Valid until the plan is destroyed or explained again. */
tulle_status tulle_spmv_plan_explain(tulle_spmv_plan* plan, const char** sentence);
/** The kernel's name. Valid until the plan is destroyed. */
tulle_status tulle_spmv_plan_kernel(const tulle_spmv_plan* plan, const char** name);
/** Bytes that the plan owns, on the host or the device. */
tulle_status tulle_spmv_plan_workspace(const tulle_spmv_plan* plan, size_t* bytes);
/** The matrix that it was made of stays. */
void tulle_spmv_plan_destroy(tulle_spmv_plan* plan);

#ifdef __cplusplus
}
#endif

#endif
