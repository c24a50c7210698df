// The CUDA SpGEMM kernels: a declaration and a line each.
#include <array>

#include "core/backends.hpp"

namespace tulle::cuda {

std::unique_ptr<spgemm_operator> make_adaptive_spgemm(const context&, const spgemm_problem&);
std::unique_ptr<spgemm_operator> make_kernel0(const context&, const spgemm_problem&);
std::unique_ptr<spgemm_operator> make_cusparse_spgemm1(const context&, const spgemm_problem&);
std::unique_ptr<spgemm_operator> make_cusparse_spgemm2(const context&, const spgemm_problem&);
std::unique_ptr<spgemm_operator> make_cusparse_spgemm3(const context&, const spgemm_problem&);
std::unique_ptr<spgemm_operator> make_cusparse_spgemm_reuse(const context&, const spgemm_problem&);

support supports_adaptive_spgemm(const spgemm_problem&, const device_info&);
support supports_kernel0(const spgemm_problem&, const device_info&);
support supports_cusparse_spgemm(const spgemm_problem&, const device_info&);

std::size_t bound_adaptive_spgemm(const context&, const spgemm_problem&, const spgemm_work&);
std::size_t bound_kernel0(const context&, const spgemm_problem&, const spgemm_work&);

std::span<const spgemm_kernel> spgemm_table() {
  constexpr auto gpu = backend_kind::cuda;
  static constexpr std::array table{
      spgemm_kernel{"default", "rows by class: sorted in registers, hashed by words of 32 columns, or bitmaps and chunks", gpu, false, true, supports_adaptive_spgemm, make_adaptive_spgemm, bound_adaptive_spgemm, true},
      spgemm_kernel{"kernel0", "one thread a row, a tile of columns at a time: the first kernel, the oracle", gpu, false, true, supports_kernel0, make_kernel0, bound_kernel0},
      spgemm_kernel{"cusparse.spgemm1", "cuSPARSE SpGEMM algorithm 1: all products at once", gpu, true, false, supports_cusparse_spgemm, make_cusparse_spgemm1, nullptr},
      spgemm_kernel{"cusparse.spgemm2", "cuSPARSE SpGEMM algorithm 2: less memory", gpu, true, false, supports_cusparse_spgemm, make_cusparse_spgemm2, nullptr},
      spgemm_kernel{"cusparse.spgemm3", "cuSPARSE SpGEMM algorithm 3: products in chunks of a fifth", gpu, true, false, supports_cusparse_spgemm, make_cusparse_spgemm3, nullptr},
      spgemm_kernel{"cusparse.spgemm_reuse", "cuSPARSE SpGEMM that keeps the structure for new numbers", gpu, true, false, supports_cusparse_spgemm, make_cusparse_spgemm_reuse, nullptr},
  };
  return table;
}

}  // namespace tulle::cuda
