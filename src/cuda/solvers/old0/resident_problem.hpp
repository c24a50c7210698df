// What the kernel of a resident solver is given.
#pragma once

#include <cstdint>
#include <tulle/solvers/cg.hpp>

namespace tulle::cuda::old0 {

/// resident_plan on the device, and what a solve is given.
template <class T>
struct resident_problem {
  const std::int32_t *row_begin, *chunk_begin, *outer_begin, *row_chunk, *source, *outer, *diagonal;
  const std::uint16_t* column;
  int most_rows, most_chunks, most_columns;
  const T* values;  // of the BSR
  const T* b;
  T* x;
  cg_record* record;
  unsigned long long* first_bad;  // row of a diagonal that is not positive definite; all ones between solves
  double* history;
  double rtol, atol;
  int max_iterations;
  int replace_interval;  // 0 or below: never
  bool zero_guess;
  preconditioner_kind preconditioner;
};

}  // namespace tulle::cuda
