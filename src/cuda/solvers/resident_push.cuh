// How the thread blocks of cg.cluster tell each other vectors and sums: each stores into the shared memory of those who
// read it, and a barrier in memory there counts the bytes that have come. Hopper and later.
#pragma once

#include <cooperative_groups.h>

#include <cstdint>

#include "cuda/solvers/resident_lanes.cuh"
#include "cuda/solvers/resident_sums.cuh"

namespace tulle::cuda {

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
/// 1, 2 or 4 words of 4 bytes, from the block's own shared memory.
template <int Words>
__device__ __forceinline__ void send_words(unsigned to, unsigned barrier, unsigned from) {
  if constexpr (Words == 1) {
    unsigned a;
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(a) : "r"(from) : "memory");
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(to), "r"(a),
                 "r"(barrier)
                 : "memory");
  } else if constexpr (Words == 2) {
    unsigned a, b;
    asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(from) : "memory");
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1, %2}, [%3];" ::"r"(to),
                 "r"(a), "r"(b), "r"(barrier)
                 : "memory");
  } else {
    unsigned a, b, c, d;
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                 : "r"(from)
                 : "memory");
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(to),
                 "r"(a), "r"(b), "r"(c), "r"(d), "r"(barrier)
                 : "memory");
  }
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

template <class T, int Block, int Trial>
class push_exchange {
 public:
  struct memory {};

  /// `pattern`, `push`: resident_pattern.
  __device__ push_exchange(const memory&, const std::int32_t*, int outer_rows, int, int rows, T* columns,
                           std::int32_t* pattern, int push)
      : pattern_(pattern), push_(push), rows_(rows), bytes_(static_cast<unsigned>(outer_rows * Block * sizeof(T))) {
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
  /// Who reads a row, and where, becomes two addresses: of the row there, and of a barrier. A barrier of the block ends
  /// it.
  __device__ void prepare() const {
    const int end = pattern_[push_ + rows_];
    for (int at = pattern_[push_] + 2 * static_cast<int>(threadIdx.x); at < end; at += 2 * resident_threads) {
      const int to = pattern_[at];
      pattern_[at] =
          static_cast<int>(address_in(columns_ + static_cast<unsigned>((to & 0xffff) * row_bytes), to >> 16));
      pattern_[at + 1] = static_cast<int>(address_in(barriers_, to >> 16));
    }
    __syncwarp();
    __syncthreads();
  }
  /// Behind the store of the value among the block's own.
  __device__ __forceinline__ void tell(int row, bool active, T) const {
    __syncwarp();
    if (!active) return;
    const int first = pattern_[push_ + row], items = (pattern_[push_ + row + 1] - first) / 2 * pieces;
    const unsigned mine = columns_ + static_cast<unsigned>(row * row_bytes);
#pragma unroll 2
    for (int k = lane_id() % width; k < items; k += width) {
      const uint2 to = *reinterpret_cast<const uint2*>(pattern_ + first + k / pieces * 2);
      const auto piece = static_cast<unsigned>(k % pieces * piece_bytes);
      send_words<piece_bytes / 4>(to.x + piece, to.y, mine + piece);
    }
  }
  __device__ __forceinline__ void take() {
    if (threadIdx.x == 0) expect(barriers_, bytes_);
    if constexpr ((Trial & 2) == 0) wait_for(barriers_, vectors_);
    vectors_ ^= 1;
    __syncwarp();
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
    if constexpr ((Trial & 2) == 0) wait_for(barrier, sums_ >> parity_ & 1);
    sums_ ^= 1u << parity_;
    __syncwarp();
    const double of_lane = lane_id() < parts() ? of_part[parity_][v][lane_id() % 16] : 0.0;
    return (Trial & 8) != 0 ? warp_sum(of_lane) : warp_total(of_lane);
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
  __device__ void prepare() const {}
  __device__ void tell(int, bool, T) const {}
  __device__ void take() const {}
  __device__ double add(int, double sum) { return sum; }
  __device__ void skip() {}
  __device__ void end() const {}
#endif

 private:
  static constexpr int width = resident_width(Block);
  static constexpr int row_bytes = Block * static_cast<int>(sizeof(T));
  static constexpr int piece_bytes = row_bytes % 16 == 0 ? 16 : row_bytes % 8 == 0 ? 8 : 4;
  static constexpr int pieces = row_bytes / piece_bytes;

  std::int32_t* pattern_;
  int push_, rows_;
  unsigned bytes_;
  unsigned barriers_ = 0, columns_ = 0;
  unsigned vectors_ = 0;  // phase of the next vector
  unsigned sums_ = 0;     // bits: phases of both
  unsigned parity_ = 0;
};

}  // namespace tulle::cuda
