// Y = alpha A X + beta Y from the packed storage.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/spmv/packed_format.cuh"
#include "kernels/spmv.hpp"

namespace tulle::cuda {

/// Most right-hand sides per launch: values per part in `part_sum`.
inline constexpr int packed_many_most = 32;

/// `height`: of the slices. No allocation, no synchronisation; one launch per 32, 8 or 4 right-hand sides.
template <class Values, class T>
void packed_many(const packed_pattern& a, int height, const Values& values, T* part_sum, double alpha,
                 const strided_vectors& x, double beta, const strided_vectors& y, cudaStream_t stream);

}  // namespace tulle::cuda
