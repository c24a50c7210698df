#include "cg_naive.hpp"

namespace {

template <class T>
__device__ void add_over_block(double sum, T* to) {
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) atomicAdd(to, sum);
}
/// x += alpha p, r -= alpha q, z = r / d, rz = r.z; what a first version does.
__global__ void naive_update(const double* rz, const double* pq, const double* p, const double* q, const double* dinv,
                             double* x, double* r, double* z, double* next, std::int64_t n) {
  const double alpha = *rz / *pq;
  double sum = 0;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n;
       i += std::int64_t{gridDim.x} * blockDim.x) {
    x[i] += alpha * p[i];
    const double value = r[i] - alpha * q[i];
    r[i] = value;
    z[i] = value * dinv[i];
    sum += value * z[i];
  }
  add_over_block(sum, next);
}
__global__ void naive_direction(double* rz, double* next, const double* z, double* p, std::int64_t n, unsigned* count) {
  const double beta = *next / *rz;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n;
       i += std::int64_t{gridDim.x} * blockDim.x)
    p[i] = z[i] + beta * p[i];
  __shared__ bool last;
  if (threadIdx.x == 0) last = atomicAdd(count, 1) == gridDim.x - 1;
  __syncthreads();
  if (last && threadIdx.x == 0) {
    *rz = *next;
    *next = 0;
    *count = 0;
  }
}

}  // namespace

void naive_step(const naive_arrays& a, int blocks, cudaStream_t stream) {
  naive_update<<<blocks, 256, 0, stream>>>(a.rz, a.pq, a.p, a.q, a.dinv, a.x, a.r, a.z, a.rz + 1, a.n);
  naive_direction<<<blocks, 256, 0, stream>>>(a.rz, a.rz + 1, a.z, a.p, a.n, a.count);
}
