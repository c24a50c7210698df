#include "kernels/backends.hpp"
#include "cuda/vector/vector.hpp"

namespace tulle::cuda {

const vector_kernels& vectors() {
  static constexpr vector_kernels table = {
      .workspace_bytes = vector_workspace_bytes,
      .fill = fill_vector,
      .copy = copy_vector,
      .update = update_vectors,
      .dots = dot_vectors,
      .gather = gather_vector,
      .scatter = scatter_vector,
      .random = random_vector,
      .convert = convert_vector,
  };
  return table;
}

}  // namespace tulle::cuda
