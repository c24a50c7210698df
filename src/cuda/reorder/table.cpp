// The device's orders.
#include "cuda/reorder/reorder.hpp"
#include "cuda/runtime/device_guard.hpp"
#include "kernels/backends.hpp"

namespace tulle::cuda {

const reorder_kernels& reorders() {
  static constexpr reorder_kernels table = {.take_order = on_device<&take_order>::call,
                                            .symmetric = on_device<&is_symmetric_pattern>::call,
                                            .rcm = on_device<&reverse_cuthill_mckee>::call,
                                            .permute = on_device<&permute_entries>::call,
                                            .gather = gather_vectors,
                                            .split = on_device<&split_order>::call,
                                            .row_columns = on_device<&row_columns>::call};
  return table;
}

}  // namespace tulle::cuda
