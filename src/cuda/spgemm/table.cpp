// The CUDA SpGEMM kernels: a declaration and a line each.
#include <array>

#include "kernels/backends.hpp"

namespace tulle::cuda {

using make_spgemm_function = std::unique_ptr<spgemm_operator>(const context&, const spgemm_problem&);
make_spgemm_function make_gustavson, make_kernel0, make_cusparse_spgemm1, make_cusparse_spgemm2, make_cusparse_spgemm3,
    make_cusparse_spgemm_reuse;
support supports_cusparse_spgemm(const spgemm_problem&, const device_info&);

std::span<const spgemm_kernel> spgemm_table() {
  constexpr auto gpu = backend_kind::cuda;
  static constexpr std::array table{
      spgemm_kernel{"gustavson",
                    "rows by class: sorted in registers, hashed by words of 32 columns, or bitmaps and chunks", gpu,
                    type_set::all | type_set::further, kernel_role::production, true, supports_every, make_gustavson, true},
      spgemm_kernel{"kernel0", "one thread per row, a tile of columns at a time: the first kernel, the oracle", gpu,
                    type_set::all, kernel_role::study, true, supports_every, make_kernel0},
      spgemm_kernel{"cusparse.spgemm1", "cuSPARSE SpGEMM algorithm 1: all products at once", gpu, type_set::floating,
                    kernel_role::vendor, false, supports_cusparse_spgemm, make_cusparse_spgemm1},
      spgemm_kernel{"cusparse.spgemm2", "cuSPARSE SpGEMM algorithm 2: less memory", gpu, type_set::floating,
                    kernel_role::vendor, false, supports_cusparse_spgemm, make_cusparse_spgemm2},
      spgemm_kernel{"cusparse.spgemm3", "cuSPARSE SpGEMM algorithm 3: products in chunks of a fifth", gpu,
                    type_set::floating, kernel_role::vendor, false, supports_cusparse_spgemm, make_cusparse_spgemm3},
      spgemm_kernel{"cusparse.spgemm_reuse", "cuSPARSE SpGEMM that keeps the structure for new numbers", gpu,
                    type_set::floating, kernel_role::vendor, false, supports_cusparse_spgemm,
                    make_cusparse_spgemm_reuse},
  };
  return table;
}

}  // namespace tulle::cuda
