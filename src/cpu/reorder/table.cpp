// The CPU's orders.
#include "cpu/reorder/reorder.hpp"
#include "kernels/backends.hpp"

namespace tulle::cpu {

const reorder_kernels& reorders() {
  static constexpr reorder_kernels table = {.take_order = take_order,
                                            .symmetric = is_symmetric_pattern,
                                            .rcm = reverse_cuthill_mckee,
                                            .permute = permute_entries,
                                            .gather = gather_vectors,
                                            .split = nullptr,
                                            .row_columns = row_columns};
  return table;
}

}  // namespace tulle::cpu
