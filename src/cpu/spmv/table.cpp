// The CPU's SpMV kernels, one line each.
#include "core/backends.hpp"

namespace tulle::cpu {

using make_plan_function = std::unique_ptr<spmv_operator>(const context&, const csr_ref&, const csr_stats&,
                                                          const spmv_options&);
make_plan_function make_csr_serial, make_csr_rows, make_csr_balanced, make_coo, make_ell, make_sell, make_bsr, make_packed;

using supports_function = support(const csr_stats&, type_key, const device_info&);
supports_function supports_ell, supports_sell, supports_bsr, supports_packed;

std::span<const spmv_kernel> spmv_table() {
  using enum type_set;
  constexpr auto cpu = backend_kind::cpu;
  static constexpr spmv_kernel table[] = {
      {"csr.serial", "one thread, row after row: the control", cpu, all, false, always_supported, make_csr_serial},
      {"csr.rows", "an equal number of rows a thread", cpu, all, false, always_supported, make_csr_rows},
      {"csr.balanced", "equal rows + nonzeros a thread", cpu, all, false, always_supported, make_csr_balanced},
      {"coo", "coordinates, equal nonzeros a thread", cpu, floating, false, always_supported, make_coo},
      {"ell", "rows padded to the longest, slot by slot", cpu, floating, false, supports_ell, make_ell},
      {"sell", "SELL-32-sigma: slices of 32 rows of like length", cpu, floating, false, supports_sell, make_sell},
      {"bsr", "dense blocks of 2 to 8 rows", cpu, floating, false, supports_bsr, make_bsr},
      {"packed", "slices of 32 rows by diagonal, or with narrow column offsets", cpu, floating, false, supports_packed,
       make_packed},
  };
  return table;
}

}  // namespace tulle::cpu
