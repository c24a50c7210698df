// The packed storage for kernels that do more than multiply (cuda/solvers/graph_pass.cuh).
#pragma once

#include "cuda/spmv/packed_format.cuh"

namespace tulle::cuda {

struct packed_slices {
  packed_pattern pattern;
  const void* values;
  int height = 0;  // lanes of a slice
};

class has_packed_slices {
 public:
  /// Of height 0 where rows are cut. Stays good as long as the operator.
  [[nodiscard]] virtual packed_slices slices() const = 0;

 protected:
  ~has_packed_slices() = default;
};

}  // namespace tulle::cuda
