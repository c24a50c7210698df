// The CPU SpGEMM kernels: a declaration and a line each.
#include "core/backends.hpp"

namespace tulle::cpu {

using make_spgemm_function = std::unique_ptr<spgemm_operator>(const context&, const spgemm_problem&);
make_spgemm_function make_spgemm_kernel0, make_spgemm_default;

using spgemm_bound_function = std::size_t(const context&, const spgemm_problem&, const spgemm_work&);
spgemm_bound_function bound_spgemm_kernel0, bound_spgemm_default;

namespace {
support supports_all(const spgemm_problem&, const device_info&) { return {}; }
}  // namespace

std::span<const spgemm_kernel> spgemm_table() {
  constexpr auto cpu = backend_kind::cpu;
  static constexpr spgemm_kernel table[] = {
      {"kernel0", "one thread, row after row, an accumulator of tile_size columns at a time: the control", cpu, false,
       true, supports_all, make_spgemm_kernel0, bound_spgemm_kernel0},
      {"default", "sorting, a window of flags and sums, or a hash table, row by row", cpu, false, true, supports_all,
       make_spgemm_default, bound_spgemm_default},
  };
  return table;
}

}  // namespace tulle::cpu
