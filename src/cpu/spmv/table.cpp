// The CPU's SpMV kernels, one line each.
#include "core/backends.hpp"

namespace tulle::cpu {

using make_plan_function = std::unique_ptr<spmv_operator>(const context&, const csr_ref&, const csr_stats&,
                                                          const spmv_options&);
make_plan_function make_csr_serial, make_csr_rows, make_csr_balanced;

std::span<const spmv_kernel> spmv_table() {
  using enum type_set;
  constexpr auto cpu = backend_kind::cpu;
  static constexpr spmv_kernel table[] = {
      {"csr.serial", "one thread, row after row: the control", cpu, all, false, always_supported, make_csr_serial},
      {"csr.rows", "an equal number of rows a thread", cpu, all, false, always_supported, make_csr_rows},
      {"csr.balanced", "equal rows + nonzeros a thread", cpu, all, false, always_supported, make_csr_balanced},
  };
  return table;
}

}  // namespace tulle::cpu
