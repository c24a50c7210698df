// How the thread blocks of cg.cluster tell each other vectors and sums: each stores into the shared memory of those who
// read it, and a barrier in memory there counts the bytes that have come. Hopper and later.
#pragma once

#include <cooperative_groups.h>

#include <cstdint>

#include "cuda/solvers/old0/resident_sums.cuh"

namespace tulle::cuda::old0 {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
__device__ __forceinline__ unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}
/// The same place in the shared memory of another block of the cluster.
__device__ __forceinline__ unsigned address_in(unsigned address, int part) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(part));
  return there;
}
__device__ __forceinline__ void send(unsigned to, unsigned barrier, double value) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(to),
               "l"(__double_as_longlong(value)), "r"(barrier)
               : "memory");
}
__device__ __forceinline__ void send(unsigned to, unsigned barrier, float value) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(to),
               "r"(__float_as_uint(value)), "r"(barrier)
               : "memory");
}
__device__ __forceinline__ void expect(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void wait_for(unsigned barrier, unsigned phase) {
  unsigned done = 0;
  while (done == 0) {
    asm volatile(
        "{\n.reg .pred p;\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n}"
        : "=r"(done)
        : "r"(barrier), "r"(phase)
        : "memory");
  }
}
#endif

template <class T, int Block>
class push_exchange {
 public:
  /// Of every block row: who reads it and where, (part << 16) + column of that part.
  struct memory {
    const std::int32_t *begin, *to;
  };

  __device__ push_exchange(const memory& m, const std::int32_t*, int outer_rows, int first_row, int, T* columns, int i)
      : m_(m), first_row_(first_row), i_(i), bytes_(static_cast<unsigned>(outer_rows * Block * sizeof(T))) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    __shared__ std::uint64_t barriers[3];
    barriers_ = shared_address(barriers);
    columns_ = shared_address(columns);
    if (threadIdx.x == 0) {
      for (unsigned u = 0; u < 3; ++u)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barriers_ + 8 * u) : "memory");
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncwarp();
    cooperative_groups::this_cluster().sync();
#endif
  }

  static __device__ int parts() { return static_cast<int>(gridDim.x); }
  static __device__ int part() { return static_cast<int>(blockIdx.x); }

  __device__ void begin_vector() {}
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  __device__ __forceinline__ void tell(int row, bool active, T value) const {
    if (!active) return;
    const unsigned mine = columns_ + static_cast<unsigned>(i_ * sizeof(T));
    const int end = m_.begin[first_row_ + row + 1];
#pragma unroll 4
    for (int k = m_.begin[first_row_ + row]; k < end; ++k) {
      const std::int32_t to = m_.to[k];
      send(address_in(mine + static_cast<unsigned>((to & 0xffff) * Block * sizeof(T)), to >> 16),
           address_in(barriers_, to >> 16), value);
    }
  }
  __device__ __forceinline__ void take() {
    if (threadIdx.x == 0) expect(barriers_, bytes_);
    __syncwarp();
    __syncthreads();  // the block's own rows
    wait_for(barriers_, vectors_);
    vectors_ ^= 1;
  }
  /// By warp v, one of the first four: the sum over all parts, in every lane.
  __device__ __forceinline__ double add(int v, double sum) {
    __shared__ double of_part[2][resident_sums::count][16];
    parity_ ^= 1;
    const unsigned barrier = barriers_ + 8 + 8 * parity_;
    if (threadIdx.x == 0) expect(barrier, static_cast<unsigned>(parts() * resident_sums::count * sizeof(double)));
    __syncwarp();
    if (lane_id() < parts())
      send(address_in(shared_address(&of_part[parity_][v][part()]), lane_id()), address_in(barrier, lane_id()), sum);
    wait_for(barrier, sums_ >> parity_ & 1);
    sums_ ^= 1u << parity_;
    __syncwarp();
    return warp_sum<16>(lane_id() % 16 < parts() ? of_part[parity_][v][lane_id() % 16] : 0.0);
  }
  __device__ void skip() {
    parity_ ^= 1;
    sums_ ^= 1u << parity_;
  }
  /// Nobody's memory may go while others write it.
  __device__ void end() const {
    __syncwarp();
    cooperative_groups::this_cluster().sync();
  }
#else
  __device__ void tell(int, bool, T) const {}
  __device__ void take() const {}
  __device__ double add(int, double sum) { return sum; }
  __device__ void skip() {}
  __device__ void end() const {}
#endif

 private:
  memory m_;
  int first_row_, i_;
  unsigned bytes_;
  unsigned barriers_ = 0, columns_ = 0;
  unsigned vectors_ = 0;  // phase of the next vector
  unsigned sums_ = 0;     // bits: phases of both
  unsigned parity_ = 0;
};

}  // namespace tulle::cuda
