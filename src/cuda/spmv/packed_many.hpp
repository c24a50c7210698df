// Y = alpha A X + beta Y from the packed storage.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/spmv/packed_format.cuh"
#include "kernels/spmv.hpp"

namespace tulle::cuda {

/// Right-hand sides that one launch takes at most: values for each part in `part_sum`.
inline constexpr int packed_many_most = 8;

/// `height`: of the slices. No allocation, no synchronisation; a launch for every 8 (or 4) right-hand sides.
template <class T>
void packed_many(const packed_pattern& a, int height, const T* values, T* part_sum, double alpha, const strided_vectors& x,
                 double beta, const strided_vectors& y, cudaStream_t stream);

}  // namespace tulle::cuda
