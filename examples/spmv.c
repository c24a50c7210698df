/* y = A x in C99, on a matrix that the program holds: no copy is made of it. */
#include <stdio.h>
#include <stdlib.h>

#include <tulle/tulle.h>

static void check(tulle_status status) {
  if (status == TULLE_STATUS_SUCCESS) return;
  fprintf(stderr, "%s: %s\n", tulle_status_name(status), tulle_last_error_message());
  exit(1);
}

int main(void) {
  const int32_t rowptr[] = {0, 2, 2, 5}, colind[] = {0, 2, 0, 1, 3};
  const double values[] = {1, 2, -3, 4, 5}, x[] = {1, 2, 3, 4};
  const tulle_csr_arrays arrays = {.rows = 3, .cols = 4, .nnz = 5, .scalar_type = TULLE_F64,
                                   .rowptr = rowptr, .colind = colind, .values = values};
  double y[3];
  const char* sentence = NULL;
  tulle_context* context = NULL;
  tulle_csr* matrix = NULL;
  tulle_spmv_plan* plan = NULL;

  check(tulle_context_create_cpu(0, &context));
  check(tulle_csr_borrow(context, &arrays, &matrix));
  check(tulle_spmv_plan_create(context, matrix, NULL, &plan));
  check(tulle_spmv_plan_apply(plan, 1.0, x, 4, 0.0, y, 3));
  check(tulle_spmv_plan_explain(plan, &sentence));
  printf("%s\n%g\n%g\n%g\n", sentence, y[0], y[1], y[2]);

  tulle_spmv_plan_destroy(plan);
  tulle_csr_destroy(matrix);
  tulle_context_destroy(context);
  return 0;
}
