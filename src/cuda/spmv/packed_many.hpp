// Y = then(alpha A X + beta Y) from the packed storage.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/device/many_epilogue.cuh"
#include "cuda/device/read_ahead.cuh"
#include "cuda/spmv/packed_format.cuh"
#include "kernels/spmv.hpp"

namespace tulle::cuda {

/// Right-hand sides that fill a line of 128 bytes: taken at once from slices of 32 lanes.
template <class T>
inline constexpr int packed_many_wide = 128 / sizeof(T);

/// Where the parts of long rows meet. Panels of columns that run side by side have each their own.
template <class T>
struct packed_many_room {
  T* part_sum;                // columns * parts
  packed_long_row* long_row;  // columns / 4 times those of the pattern
  std::int64_t parts;
  std::int64_t long_rows;
  index_t columns;  // at once where there are parts; a multiple of 32
};

/// `height`: of the slices; `ahead`: of X. No allocation, no synchronisation. Panels of a line, 8 or 4 columns, as many
/// in one launch as there is room for.
template <class Values, class T>
void packed_many(const packed_pattern& a, int height, const Values& values, const packed_many_room<T>& room,
                 product_ahead ahead, double alpha, const strided_vectors& x, double beta, const strided_vectors& y,
                 const many_epilogue<T>& then, cudaStream_t stream);

}  // namespace tulle::cuda
