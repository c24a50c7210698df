// The CPU's operations on matrices.
#include "kernels/backends.hpp"
#include "cpu/matrix/matrix.hpp"

namespace tulle::cpu {

const matrix_kernels& matrices() {
  static constexpr matrix_kernels table = {
      .inspect = inspect_patterns,
      .select = select_entries,
      .gather = map_values,
      .add_pattern = add_patterns,
      .add_values = add_values,
      .diagonal = diagonal,
      .scale = scale_values,
      .identity = fill_identity,
  };
  return table;
}

}  // namespace tulle::cpu
