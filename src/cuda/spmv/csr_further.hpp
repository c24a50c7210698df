// The CSR kernel for the further types, by which csr.warp takes them.
#pragma once

#include <memory>

#include "kernels/spmv.hpp"

namespace tulle::cuda {

/// For values and vectors of one of the further types.
std::unique_ptr<spmv_operator> make_csr_further(const context& ctx, const matrix_ref& a, const csr_stats& stats,
                                                const spmv_options& options);

}  // namespace tulle::cuda
