// How the thread blocks of cg.cluster tell each other vectors and sums: through the shared memory of the cluster, which
// is the whole grid. Hopper and later.
#pragma once

#include <cooperative_groups.h>

#include <cstdint>

#include "cuda/solvers/resident_sums.cuh"

namespace tulle::cuda {

template <class T, int Block>
class cluster_exchange {
 public:
  struct memory {};

  /// `outer`: (part << 16) + row of the part. `published`: at the same place in every block.
  __device__ cluster_exchange(const memory&, const std::int32_t* outer, int outer_rows, int, T* published)
      : outer_(outer), count_(outer_rows * pairs), published_(published) {
#pragma unroll
    for (int u = 0; u < flight; ++u) place_[u] = place(static_cast<int>(threadIdx.x + u * blockDim.x));
  }

  static __device__ int parts() { return static_cast<int>(gridDim.x); }
  static __device__ int part() { return static_cast<int>(blockIdx.x); }

  __device__ void begin_vector() {}
  __device__ __forceinline__ void tell(int row, int first, bool active, T value) const {
    if (active) published_[row * Block + lane_id() - first] = value;
  }
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  __device__ void take(T* outer_values) const {
    __syncwarp();  // the cluster's barrier is for whole warps
    cooperative_groups::this_cluster().sync();
    take_pairs(outer_values, static_cast<int>(threadIdx.x), place_);
    for (int first = static_cast<int>(threadIdx.x + flight * blockDim.x); first < count_;
         first += static_cast<int>(flight * blockDim.x)) {
      std::int32_t more[flight];
#pragma unroll
      for (int u = 0; u < flight; ++u) more[u] = place(static_cast<int>(first + u * blockDim.x));
      take_pairs(outer_values, first, more);
    }
    __syncwarp();
    __syncthreads();
  }
  template <class Stamp>
  __device__ __forceinline__ resident_sums add(const resident_sums& mine, resident_scratch& s, Stamp stamp) {
    __shared__ double of_part[2][16][resident_sums::count];
    const auto cluster = cooperative_groups::this_cluster();
    parity_ ^= 1;
    s.leave(mine);
    __syncthreads();
    stamp(3);
    if (threadIdx.x < 64) {
      const double sum = s.add(s.of_warp, static_cast<int>(blockDim.x / 32));
      if (const int k = static_cast<int>(threadIdx.x) / resident_sums::count; k < parts()) {
        *cluster.map_shared_rank(&of_part[parity_][part()][sum_of_lane()], k) = sum;
      }
    }
    __syncwarp();
    stamp(4);
    cluster.sync();
    stamp(5);
    return everywhere(s.add(of_part[parity_], parts()));
  }
  /// Nobody's memory may go while others read it.
  __device__ void end() const { cooperative_groups::this_cluster().sync(); }
#else
  __device__ void take(T*) const {}
  template <class Stamp>
  __device__ resident_sums add(const resident_sums& mine, resident_scratch&, Stamp) {
    return mine;
  }
  __device__ void end() const {}
#endif

 private:
  static constexpr int together = Block % 2 == 0 ? 2 : 1;
  struct alignas(together * sizeof(T)) values {
    T v[together];
  };
  static constexpr int flight = 4;
  static constexpr int pairs = Block / together;  // or single values

  /// Where a pair of the outer rows is: its part and its place there; below 0 behind the last.
  __device__ std::int32_t place(int at) const {
    if (at >= count_) return -1;
    const std::int32_t row = outer_[at / pairs];
    return ((row >> 16) << 24) + (row & 0xffff) * pairs + at % pairs;
  }
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  __device__ __forceinline__ void take_pairs(T* outer_values, int first, const std::int32_t (&place)[flight]) const {
    const auto cluster = cooperative_groups::this_cluster();
    values* const from = reinterpret_cast<values*>(published_);
    values got[flight];
#pragma unroll
    for (int u = 0; u < flight; ++u) {
      if (place[u] >= 0) got[u] = cluster.map_shared_rank(from, place[u] >> 24)[place[u] & 0xffffff];
    }
#pragma unroll
    for (int u = 0; u < flight; ++u) {
      if (place[u] >= 0) reinterpret_cast<values*>(outer_values)[first + u * static_cast<int>(blockDim.x)] = got[u];
    }
  }
#endif

  const std::int32_t* outer_;
  int count_;
  T* published_;
  std::int32_t place_[flight];
  int parity_ = 0;
};

}  // namespace tulle::cuda
