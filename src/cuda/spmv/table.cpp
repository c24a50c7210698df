// The CUDA SpMV kernels: a declaration and a line each.
#include <array>

#include "kernels/backends.hpp"

namespace tulle::cuda {

#define TULLE_DECLARE(maker) \
  std::unique_ptr<spmv_operator> maker(const context&, const matrix_ref&, const csr_stats&, const spmv_options&)
TULLE_DECLARE(make_csr_thread);
TULLE_DECLARE(make_csr_value);
TULLE_DECLARE(make_csr_warp);
TULLE_DECLARE(make_csr_warp_shared);
TULLE_DECLARE(make_csr_vector_shared);
TULLE_DECLARE(make_csr_merge);
TULLE_DECLARE(make_csr_stream);
TULLE_DECLARE(make_csr5);
TULLE_DECLARE(make_csr5_blocked);
TULLE_DECLARE(make_coo);
TULLE_DECLARE(make_ell);
TULLE_DECLARE(make_sell);
TULLE_DECLARE(make_bsr);
TULLE_DECLARE(make_packed);
TULLE_DECLARE(make_cusparse_csr1);
TULLE_DECLARE(make_cusparse_csr2);
TULLE_DECLARE(make_cusparse_coo1);
TULLE_DECLARE(make_cusparse_coo2);
TULLE_DECLARE(make_cusparse_sell);
#undef TULLE_DECLARE

support supports_csr_vector_shared(const csr_stats&, type_key, const device_info&);
support supports_ell(const csr_stats&, type_key, const device_info&);
support supports_sell(const csr_stats&, type_key, const device_info&);
support supports_bsr(const csr_stats&, type_key, const device_info&);
support supports_packed(const csr_stats&, type_key, const device_info&);
support supports_cusparse(const csr_stats&, type_key, const device_info&);
support supports_cusparse_sell(const csr_stats&, type_key, const device_info&);

std::span<const spmv_kernel> spmv_table() {
  using enum type_set;
  constexpr auto gpu = backend_kind::cuda;
  static constexpr std::array table{
      spmv_kernel{"csr.thread", "one thread a row", gpu, all, false, always_supported, make_csr_thread},
      spmv_kernel{"csr.value", "one thread a nonzero, segmented sums, ordered carries", gpu, all, false, always_supported, make_csr_value},
      spmv_kernel{"csr.warp", "1 to 32 lanes a row, shuffles", gpu, all, false, always_supported, make_csr_warp},
      spmv_kernel{"csr.warp_shared", "1 to 32 lanes a row, partial sums in shared memory", gpu, all, false, always_supported, make_csr_warp_shared},
      spmv_kernel{"csr.vector_shared", "x staged in shared memory, for banded matrices", gpu, all, false, supports_csr_vector_shared, make_csr_vector_shared},
      spmv_kernel{"csr.merge", "merge-path: equal work a thread whatever the row lengths", gpu, all, false, always_supported, make_csr_merge},
      spmv_kernel{"csr.stream", "equal tiles of nonzeros, products in shared memory, one launch, no set-up", gpu, all, false, always_supported, make_csr_stream},
      spmv_kernel{"csr5", "CSR5 with tiles of whole rows: equal work, and no read but x waits for another", gpu, floating, false, always_supported, make_csr5},
      spmv_kernel{"csr5.blocked", "csr5 by blocks of columns whose part of x stays in L2", gpu, floating, false, always_supported, make_csr5_blocked},
      spmv_kernel{"coo", "segmented sums over coordinates", gpu, floating, false, always_supported, make_coo},
      spmv_kernel{"ell", "ELLPACK, one thread a row", gpu, floating, false, supports_ell, make_ell},
      spmv_kernel{"sell", "SELL-32-sigma, one lane a row", gpu, floating, false, supports_sell, make_sell},
      spmv_kernel{"bsr", "blocks of 2 to 8, one warp a block row", gpu, floating, false, supports_bsr, make_bsr},
      spmv_kernel{"packed", "SELL-32-sigma with compressed columns, 1 to 32 lanes a row", gpu, floating, false, supports_packed, make_packed},
      spmv_kernel{"cusparse.csr1", "cuSPARSE CSR algorithm 1, preprocessed", gpu, floating, true, supports_cusparse, make_cusparse_csr1},
      spmv_kernel{"cusparse.csr2", "cuSPARSE CSR algorithm 2, preprocessed", gpu, floating, true, supports_cusparse, make_cusparse_csr2},
      spmv_kernel{"cusparse.coo1", "cuSPARSE COO algorithm 1, preprocessed", gpu, floating, true, supports_cusparse, make_cusparse_coo1},
      spmv_kernel{"cusparse.coo2", "cuSPARSE COO algorithm 2, preprocessed", gpu, floating, true, supports_cusparse, make_cusparse_coo2},
      spmv_kernel{"cusparse.sell", "cuSPARSE sliced ELL, slices of 32", gpu, floating, true, supports_cusparse_sell, make_cusparse_sell},
  };
  return table;
}

}  // namespace tulle::cuda
