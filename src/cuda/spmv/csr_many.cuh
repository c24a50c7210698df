// Y = alpha A X + beta Y for several right-hand sides from a CSR read in place, shared by the csr.* kernels.
#pragma once

#include <cuda_runtime_api.h>

#include <tulle/formats/views.hpp>

#include "cuda/spmv/many_vectors.cuh"

namespace tulle::cuda {

/// No set-up, no workspace; the same bits on every run on a device. `behind`: may start before what is in front of it
/// on the stream is done. See csr_many.cu.
template <scalar T, offset O>
void csr_many(const csr_view<T, O>& a, const strided_vectors& x, const scale_and_store_many<T>& store,
              int multiprocessors, bool behind, cudaStream_t stream);

}  // namespace tulle::cuda
