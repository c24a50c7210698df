// The checks of what a caller hands to a plan.
#pragma once

#include <cstddef>

#include "kernels/spmv.hpp"

namespace tulle::detail {

/// Throws INVALID_ARGUMENT naming the option that is out of range.
void check_options(const spmv_options& options);

/// x and y of y = alpha A x + beta y as the plan was given them.
struct spmv_vectors {
  const void* x;
  std::size_t x_size;
  const void* y;
  std::size_t y_size;
  memory_space space;
};

/// Throws INVALID_ARGUMENT (wrong memory space, overlap), INVALID_DIMENSIONS or NULL_POINTER.
void check_vectors(const spmv_vectors& v, shape a, scalar_type type, backend_kind backend);

}  // namespace tulle::detail
