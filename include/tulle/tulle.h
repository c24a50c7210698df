/** @file
 * tulle's C API (C99): contexts, CSR matrices, conversions and sums of them, y = alpha A x + beta y
 * (tulle_core.h), orders (tulle_reorder.h), A x = b (tulle_solvers.h), C = M o (alpha A B) + beta D (tulle_spgemm.h),
 * C = A o (U V^T) (tulle_sddmm.h).
 *
 * Handles are opaque and made by *_create, *_copy, *_borrow, *_read or *_multiply; destroying NULL does nothing. A call
 * that returns a tulle_status other than TULLE_STATUS_SUCCESS has changed nothing that the caller can see, has set the
 * handle it would have made to NULL, and has left a sentence for tulle_last_error_message(). Different threads may use
 * different handles at the same time; one handle is for one thread at a time. No C++ exception and no CUDA type passes
 * through here. */
#ifndef TULLE_TULLE_H
#define TULLE_TULLE_H

#include <tulle/tulle_core.h>
#include <tulle/tulle_reorder.h>
#include <tulle/tulle_sddmm.h>
#include <tulle/tulle_solvers.h>
#include <tulle/tulle_spgemm.h>

#endif
