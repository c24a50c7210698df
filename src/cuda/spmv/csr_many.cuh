// Y = alpha A X + beta Y for several right-hand sides from a CSR read in place, shared by the csr.* kernels.
#pragma once

#include <cuda_runtime_api.h>

#include <tulle/formats/views.hpp>

#include "kernels/spmv.hpp"

namespace tulle::cuda {

/// strided_vectors with the type of their elements.
template <class T>
struct typed_vectors {
  T* data;
  std::int64_t row_stride;
  std::int64_t vector_stride;

  explicit typed_vectors(const strided_vectors& v)
      : data(static_cast<T*>(v.data)), row_stride(v.row_stride), vector_stride(v.vector_stride) {}
  /// Element `row` of vector j.
  __device__ __forceinline__ T* at(std::int64_t row, index_t j) const {
    return data + row * row_stride + j * vector_stride;
  }
};

/// One launch, no set-up, no workspace; the same bits on every run. See csr_many.cu.
template <scalar T, offset O>
void csr_many(csr_view<T, O> a, double alpha, const strided_vectors& x, double beta, const strided_vectors& y,
              cudaStream_t stream);

}  // namespace tulle::cuda
