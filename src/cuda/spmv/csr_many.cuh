// Y = alpha A X + beta Y for several right-hand sides from a CSR read in place, shared by the csr.* kernels.
#pragma once

#include <cuda_runtime_api.h>

#include <tulle/formats/views.hpp>

#include "kernels/spmv.hpp"

namespace tulle::cuda {

/// One launch, no set-up, no workspace; the same bits on every run. See csr_many.cu.
template <scalar T, offset O>
struct csr_many {
  static void run(csr_view<T, O> a, double alpha, const strided_vectors& x, double beta, const strided_vectors& y,
                  cudaStream_t stream);
};

}  // namespace tulle::cuda
