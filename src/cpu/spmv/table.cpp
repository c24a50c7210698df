// The CPU's SpMV kernels, by name: each file describes its own.
#include "kernels/backends.hpp"
#include "kernels/split_operator.hpp"

namespace tulle::cpu {

spmv_kernel csr_serial_entry(), csr_rows_entry(), csr_balanced_entry(), coo_entry(), ell_entry(), sell_entry(),
    bsr_entry(), bin_bsr_entry(), bin_bsr_compact_entry(), packed_entry(), csr_transposed_entry();
spmv_kernel csr_split_entries_entry(), csr_split_rows_entry(), csr_dual_rows_entry(), csr_composite_rows_entry();  // study

constexpr splitters apart{split<std::int32_t>, split<std::int64_t>};

std::span<const spmv_kernel> spmv_table() {
  static const spmv_kernel table[] = {csr_serial_entry(), csr_rows_entry(), csr_balanced_entry(), coo_entry(),
                                      ell_entry(),        sell_entry(),     bsr_entry(),          bin_bsr_entry(),
                                      bin_bsr_compact_entry(), packed_entry(), csr_split_entries_entry(),
                                      csr_split_rows_entry(), csr_dual_rows_entry(), csr_composite_rows_entry(),
                                      packed_split_entry<split_form::entries, apart, packed_entry>(),
                                      packed_split_entry<split_form::rows, apart, packed_entry>()};
  return table;
}

std::span<const spmv_kernel> spmv_transposed_table() {
  static const spmv_kernel table[] = {csr_transposed_entry()};
  return table;
}

}  // namespace tulle::cpu
