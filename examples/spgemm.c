/* C = A B in C99, and the same C from other numbers. */
#include <stdio.h>
#include <stdlib.h>

#include <tulle/tulle.h>

static void check(tulle_status status) {
  if (status == TULLE_STATUS_SUCCESS) return;
  fprintf(stderr, "%s: %s\n", tulle_status_name(status), tulle_last_error_message());
  exit(1);
}

static void print(const tulle_csr* matrix) {
  tulle_csr_arrays a;
  int64_t row;
  check(tulle_csr_get_arrays(matrix, &a));
  for (row = 0; row < a.rows; ++row) {
    int32_t k;
    for (k = ((const int32_t*)a.rowptr)[row]; k < ((const int32_t*)a.rowptr)[row + 1]; ++k) {
      printf("(%d, %d) %g\n", (int)row, (int)a.colind[k], ((const double*)a.values)[k]);
    }
  }
}

int main(void) {
  /* A = [1 0 2; 0 3 0] and B = [0 1; 2 0; 3 4] */
  const int32_t a_rowptr[] = {0, 2, 3}, a_colind[] = {0, 2, 1}, b_rowptr[] = {0, 1, 2, 4}, b_colind[] = {1, 0, 0, 1};
  const double a_values[] = {1, 2, 3}, b_values[] = {1, 2, 3, 4}, other[] = {10, 20, 30};
  const tulle_csr_arrays a_arrays = {.rows = 2, .cols = 3, .nnz = 3, .scalar_type = TULLE_F64,
                                     .rowptr = a_rowptr, .colind = a_colind, .values = a_values};
  const tulle_csr_arrays b_arrays = {.rows = 3, .cols = 2, .nnz = 4, .scalar_type = TULLE_F64,
                                     .rowptr = b_rowptr, .colind = b_colind, .values = b_values};
  tulle_context* context = NULL;
  tulle_csr *a = NULL, *b = NULL, *c = NULL;
  tulle_spgemm_plan* plan = NULL;

  check(tulle_context_create_cpu(0, &context));
  check(tulle_csr_borrow(context, &a_arrays, &a));
  check(tulle_csr_borrow(context, &b_arrays, &b));
  check(tulle_spgemm_plan_create(context, a, b, NULL, &plan));
  check(tulle_spgemm_plan_multiply(plan, 1.0, 0.0, &c));
  print(c);
  check(tulle_spgemm_plan_update_values(plan, other, b_values, NULL));
  check(tulle_spgemm_plan_numeric(plan, 1.0, 0.0, c));
  print(c);

  tulle_csr_destroy(c);
  tulle_spgemm_plan_destroy(plan);
  tulle_csr_destroy(b);
  tulle_csr_destroy(a);
  tulle_context_destroy(context);
  return 0;
}
