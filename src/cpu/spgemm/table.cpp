// The CPU SpGEMM kernels: a declaration and a line each.
#include "kernels/backends.hpp"

namespace tulle::cpu {

using make_spgemm_function = std::unique_ptr<spgemm_operator>(const context&, const spgemm_problem&);
make_spgemm_function make_spgemm_gustavson, make_spgemm_kernel0;

std::span<const spgemm_kernel> spgemm_table() {
  constexpr auto cpu = backend_kind::cpu;
  static constexpr spgemm_kernel table[] = {
      {"gustavson", "sorting, a window of flags and sums, or a hash table, row by row", cpu,
       type_set::all | type_set::further,
       kernel_role::production, true, supports_every, make_spgemm_gustavson},
      {"kernel0", "one thread, row after row, an accumulator of tile_size columns at a time: the control", cpu,
       type_set::all, kernel_role::study, true, supports_every, make_spgemm_kernel0},
  };
  return table;
}

}  // namespace tulle::cpu
