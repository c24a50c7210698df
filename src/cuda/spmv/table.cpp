// The CUDA SpMV kernels, by name: each file describes its own.
#include "cuda/spmv/study/split_values.hpp"
#include "kernels/backends.hpp"
#include "kernels/split_operator.hpp"

namespace tulle::cuda {

spmv_kernel csr_thread_entry(), csr_warp_entry(), csr_merge_entry(), csr_pieces_entry(), csr_stream_entry(), csr5_entry(),
    csr5_blocked_entry(), ell_entry(), sell_entry(), bsr_entry(), bin_bsr_entry(), bin_bsr_compact_entry(),
    packed_entry(), csr_transposed_entry();
spmv_kernel csr_value_entry(), csr_warp_shared_entry(), csr_vector_shared_entry(), coo_entry();  // study
spmv_kernel csr_split_entries_entry(), csr_split_rows_entry(), csr_dual_rows_entry(), csr_composite_rows_entry();
spmv_kernel cusparse_csr1_entry(), cusparse_csr2_entry(), cusparse_coo1_entry(), cusparse_coo2_entry(),
    cusparse_bsr_entry(), cusparse_sell_entry();

constexpr splitters apart{cuda::split<std::int32_t>, cuda::split<std::int64_t>};

std::span<const spmv_kernel> spmv_table() {
  static const spmv_kernel table[] = {
      csr_thread_entry(),    csr_value_entry(),     csr_warp_entry(),      csr_warp_shared_entry(),
      csr_vector_shared_entry(), csr_merge_entry(), csr_pieces_entry(), csr_stream_entry(),    csr5_entry(),
      csr5_blocked_entry(),  coo_entry(),           ell_entry(),           sell_entry(),
      bsr_entry(),           bin_bsr_entry(),       bin_bsr_compact_entry(), packed_entry(),
      csr_split_entries_entry(), csr_split_rows_entry(), csr_dual_rows_entry(), csr_composite_rows_entry(),
      packed_split_entry<split_form::entries, apart, packed_entry>(),
      packed_split_entry<split_form::rows, apart, packed_entry>(),
      cusparse_csr1_entry(), cusparse_csr2_entry(), cusparse_coo1_entry(), cusparse_coo2_entry(),
      cusparse_bsr_entry(),  cusparse_sell_entry()};
  return table;
}

std::span<const spmv_kernel> spmv_transposed_table() {
  static const spmv_kernel table[] = {csr_transposed_entry()};
  return table;
}

}  // namespace tulle::cuda
