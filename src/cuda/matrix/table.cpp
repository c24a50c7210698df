// The device's operations on matrices.
#include "kernels/backends.hpp"
#include "cuda/matrix/matrix.hpp"
#include "cuda/runtime/device_guard.hpp"

namespace tulle::cuda {

const matrix_kernels& matrices() {
  static constexpr matrix_kernels table = {
      .inspect = on_device<&inspect_patterns>::call,
      .select = on_device<&select_entries>::call,
      .gather = on_device<&map_values>::call,
      .add_pattern = on_device<&add_patterns>::call,
      .add_values = on_device<&add_values>::call,
      .diagonal = on_device<&diagonal>::call,
      .scale = on_device<&scale_values>::call,
      .identity = on_device<&fill_identity>::call,
  };
  return table;
}

}  // namespace tulle::cuda
