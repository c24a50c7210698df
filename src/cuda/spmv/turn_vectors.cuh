// Several vectors from column-major to row-major order and back.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/spmv/many_vectors.cuh"

namespace tulle::cuda {

/// to[i * row_stride + j] = element i of vector j, for `rows` x `columns` of them, 0 from there to `row_stride`. Reads and
/// writes each once.
template <class T>
void rows_of_vectors(const typed_vectors<const T>& from, index_t rows, index_t columns, T* to, std::int64_t row_stride,
                     cudaStream_t stream);
/// store(i, j, from[i * row_stride + j]).
template <class T>
void vectors_of_rows(const T* from, std::int64_t row_stride, index_t rows, index_t columns,
                     const scale_and_store_many<T>& store, cudaStream_t stream);

}  // namespace tulle::cuda
