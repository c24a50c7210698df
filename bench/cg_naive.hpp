// The two kernels of a first version of conjugate gradients beside the product.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

struct naive_arrays {
  double* rz;  // of this iteration and of the next
  const double* pq;
  double* p;
  const double *q, *dinv;
  double *x, *r, *z;
  std::int64_t n;
  unsigned* count;
};

/// x += alpha p, r -= alpha q, z = r / d, r.z; then p = z + beta p.
void naive_step(const naive_arrays& a, int blocks, cudaStream_t stream);
