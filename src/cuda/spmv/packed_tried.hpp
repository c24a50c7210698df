// Experiments, to be deleted.
#pragma once

#include "cuda/device/epilogue.cuh"
#include "cuda/spmv/packed_kernel.cuh"

namespace tulle::cuda {
bool packed_tried(const packed_run& run, const f32_under_f64& values, const double* x, double* part_sum,
                  const scale_and_store<double>& epilogue, cudaStream_t stream);
bool packed_tried(const packed_run& run, const sliced_values& values, const double* x, double* part_sum,
                  const scale_and_store<double>& epilogue, cudaStream_t stream);
bool packed_tried(const packed_run& run, const repeated_values<double>& values, const double* x, double* part_sum,
                  const scale_and_store<double>& epilogue, cudaStream_t stream);
}  // namespace tulle::cuda
