// The CSR kernels for the further types, by which csr.serial and csr.balanced take them.
#pragma once

#include <memory>

#include "core/parallel.hpp"
#include "kernels/spmv.hpp"

namespace tulle::cpu {

/// For values and vectors of one of the further types, on so many threads.
std::unique_ptr<spmv_operator> make_csr_further(const matrix_ref& a, const spmv_options& options, int threads);

/// The same for A^T x from the CSR of A, by which csr.transposed takes them.
std::unique_ptr<spmv_operator> make_csr_further_transposed(const context& ctx, const matrix_ref& a,
                                                           const spmv_options& options);

/// A make for them, and by Otherwise for the others.
template <bool Parallel, auto Otherwise>
std::unique_ptr<spmv_operator> make_for_every_type(const context& ctx, const matrix_ref& a, const csr_stats& stats,
                                                   const spmv_options& options) {
  if (!contains(type_set::further, types_of(a, options))) return Otherwise(ctx, a, stats, options);
  return make_csr_further(a, options, Parallel ? threads_for(ctx, a) : 1);
}

}  // namespace tulle::cpu
