// How the thread blocks of a resident solver (resident.cuh) tell each other sums and vectors. Both ways add the sums of
// the blocks in the same order everywhere, so that all blocks decide alike.
#pragma once

#include <cooperative_groups.h>

#include <cstdint>
#include <type_traits>

#include "cuda/solvers/block_sums.cuh"
#include "cuda/solvers/resident_support.hpp"

namespace tulle::cuda {

/// Sums of the warps of a block, and of the blocks.
struct exchange_scratch : warp_sums {
  double2 of_all[resident_threads / 32];
};

/// Leaves the sums of a warp: of a over its first `Lanes` lanes, of b over all where `Lanes` is 32.
template <int Lanes>
__device__ __forceinline__ void leave_sums(double a, double b, warp_sums& s) {
  if constexpr (Lanes == 32) {
    leave_warp_sums(a, b, s);
  } else {
    const double sum = warp_sum<Lanes>(a);
    if (lane_id() == 0) {
      s.of_warp[threadIdx.x / 32][0] = sum;
      s.of_warp[threadIdx.x / 32][1] = 0;
    }
  }
}

/// Sums over 16 neighbouring lanes, in each of them.
__device__ __forceinline__ double2 sum_sixteen(double2 v) {
#pragma unroll
  for (int d = 8; d > 0; d /= 2) {
    v.x += __shfl_xor_sync(full_warp, v.x, d);
    v.y += __shfl_xor_sync(full_warp, v.y, d);
  }
  return v;
}

/// Values of a block row, two together where they come in pairs.
template <class T, int Block>
struct pair_of {
  static constexpr int size = Block % 2 == 0 ? 2 : 1;
  struct alignas(size * sizeof(T)) type {
    T v[size];
  };
};

/// Through global memory, without a barrier: every word carries the number of its exchange beside 32 bits of data, so
/// that who needs it waits for it alone (the LL protocol of NCCL). All blocks of the grid are resident.
template <class T, int Block>
class grid_exchange {
 public:
  /// Words for a block row of a vector: whole pairs.
  static constexpr int words = sizeof(T) == 8 ? 2 * Block : (Block + 1) / 2 * 2;

  /// `vectors`: 2 * rows * words words. `sums`: 2 * parts * 4 words. Of those nothing is read before it is written, but
  /// 0 is no number of an exchange.
  struct memory {
    std::uint64_t* vectors;
    std::uint64_t* sums;
    unsigned* number;  // of the last exchange
    std::int64_t rows;
  };

  /// `outer`: numbers of block rows.
  __device__ grid_exchange(const memory& m, const std::int32_t* outer, int outer_rows, int first_row, T*, int)
      : m_(m), outer_(outer), count_(outer_rows * pairs), number_(*m.number), first_row_(first_row) {
    const int polling = (parts() + 31) / 32 * 32;
    polls_ = min(polling, static_cast<int>(blockDim.x));
    first_ = polls_ < static_cast<int>(blockDim.x) ? polls_ : 0;  // few threads gather and poll
#pragma unroll
    for (int u = 0; u < flight; ++u) place_[u] = place(static_cast<int>(threadIdx.x) - first_ + u * gatherers());
  }

  static __device__ int parts() { return static_cast<int>(gridDim.x); }
  static __device__ int part() { return static_cast<int>(blockIdx.x); }

  /// Of an exchange of sums alone, and of one with a vector.
  __device__ void begin_sums() { number_ += number_ == 0xffffffffu ? 3 : 1; }  // never 0, and odd after even
  __device__ void begin() {
    begin_sums();
    vector_ ^= 1;
  }
  __device__ void put(int row, int i, T value) const {
    std::uint64_t* const to = m_.vectors + ((vector_ * m_.rows) + first_row_ + row) * words;
    if constexpr (sizeof(T) == 8) {
      put_double(to + 2 * i, value);
    } else {
      store(to + i, word(__float_as_uint(value)));
      if (Block % 2 == 1 && i == Block - 1) store(to + Block, word(0));
    }
  }
  /// All threads call it with their shares. The sums of all blocks, and where `outer_values` is not null the outer rows
  /// of what was put. A barrier of the block ends it. `Lanes`: those of a warp that have shares of a; b is for all 32.
  template <int Lanes = 32>
  __device__ double2 finish(double a, double b, T* outer_values, exchange_scratch& s) {
    leave_sums<Lanes>(a, b, s);
    __syncthreads();
    std::uint64_t* const sums = m_.sums + (number_ & 1) * 4 * parts();
    if (threadIdx.x < 32) {
      const double sum = add_warp_sums(s);
      if (lane_id() == 0 || (Lanes == 32 && lane_id() == 16)) put_double(sums + 4 * part() + 2 * (lane_id() / 16), sum);
    }
    const int me = static_cast<int>(threadIdx.x);
    if (me < polls_) {
      double2 v{0, 0};
      for (int g = me; g < parts(); g += polls_) {
        const double2 other = get_sums<Lanes == 32>(sums + 4 * g);
        v.x += other.x;
        v.y += other.y;
      }
      v = sum_sixteen(v);
      v.x += __shfl_xor_sync(full_warp, v.x, 16);
      if (Lanes == 32) v.y += __shfl_xor_sync(full_warp, v.y, 16);
      if (lane_id() == 0) s.of_all[me / 32] = v;
    }
    if (outer_values != nullptr && me >= first_) gather(outer_values, me - first_);
    __syncwarp();  // threads of a warp come from their polls one by one
    __syncthreads();
    double2 all{0, 0};
#pragma unroll
    for (int w = 0; w < resident_threads / 32; ++w) {
      if (w >= polls_ / 32) break;
      all.x += s.of_all[w].x;
      all.y += s.of_all[w].y;
    }
    return all;
  }
  /// Nothing is left to others.
  __device__ void end() const {
    if (blockIdx.x == 0 && threadIdx.x == 0) *m_.number = number_;
  }

 private:
  static constexpr int flight = 8;  // loads of a thread that are under way together
  static constexpr int pairs = words / 2;

  __device__ int gatherers() const { return static_cast<int>(blockDim.x) - first_; }
  /// Where a pair of the outer rows is, in pairs; below 0 behind the last.
  __device__ std::int32_t place(int at) const {
    return at >= 0 && at < count_ ? outer_[at / pairs] * pairs + at % pairs : -1;
  }

  __device__ void gather(T* outer_values, int thread) const {
    const ulonglong2* const from = reinterpret_cast<const ulonglong2*>(m_.vectors) + vector_ * m_.rows * pairs;
    take_pairs(outer_values, from, thread, place_);
    for (int first = thread + flight * gatherers(); first < count_; first += flight * gatherers()) {
      std::int32_t more[flight];
#pragma unroll
      for (int u = 0; u < flight; ++u) more[u] = place(first + u * gatherers());
      take_pairs(outer_values, from, first, more);
    }
  }
  __device__ __forceinline__ void take_pairs(T* outer_values, const ulonglong2* from, int first,
                                             const std::int32_t (&place)[flight]) const {
    ulonglong2 got[flight];
    bool there[flight];
#pragma unroll
    for (int u = 0; u < flight; ++u) there[u] = place[u] < 0;
    for (bool all = false; !all;) {
      all = true;
#pragma unroll
      for (int u = 0; u < flight; ++u) {
        if (!there[u]) got[u] = load(reinterpret_cast<const std::uint64_t*>(from + place[u]));
      }
#pragma unroll
      for (int u = 0; u < flight; ++u) {
        there[u] = there[u] || (tag(got[u].x) == number_ && tag(got[u].y) == number_);
        all = all && there[u];
      }
    }
#pragma unroll
    for (int u = 0; u < flight; ++u) {
      if (place[u] < 0) continue;
      const int at = first + u * gatherers();
      if constexpr (sizeof(T) == 8) {
        outer_values[at] = joined(got[u]);
      } else {
        const float low = __uint_as_float(static_cast<unsigned>(got[u].x)),
                    high = __uint_as_float(static_cast<unsigned>(got[u].y));
        if constexpr (Block % 2 == 0) {
          outer_values[2 * at] = low;
          outer_values[2 * at + 1] = high;
        } else {
          const int row = at / pairs, i = 2 * (at % pairs);
          outer_values[row * Block + i] = low;
          if (i + 1 < Block) outer_values[row * Block + i + 1] = high;
        }
      }
    }
  }

  __device__ std::uint64_t word(unsigned data) const { return (std::uint64_t{number_} << 32) | data; }
  static __device__ unsigned tag(std::uint64_t w) { return static_cast<unsigned>(w >> 32); }
  static __device__ double joined(ulonglong2 w) {
    return __hiloint2double(static_cast<int>(static_cast<unsigned>(w.y)), static_cast<int>(static_cast<unsigned>(w.x)));
  }
  __device__ void put_double(std::uint64_t* to, double value) const {
    const std::uint64_t low = word(static_cast<unsigned>(__double2loint(value)));
    const std::uint64_t high = word(static_cast<unsigned>(__double2hiint(value)));
    asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(low), "l"(high) : "memory");
  }
  /// Both sums of a block, or the first.
  template <bool Both>
  __device__ double2 get_sums(const std::uint64_t* from) const {
    ulonglong2 a, b{};
    bool there;
    do {
      a = load(from);
      if (Both) b = load(from + 2);
      there = tag(a.x) == number_ && tag(a.y) == number_ && (!Both || (tag(b.x) == number_ && tag(b.y) == number_));
    } while (!there);
    return {joined(a), Both ? joined(b) : 0.0};
  }
  static __device__ void store(std::uint64_t* to, std::uint64_t w) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to), "l"(w) : "memory");
  }
  static __device__ ulonglong2 load(const std::uint64_t* from) {
    ulonglong2 w;
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(w.x), "=l"(w.y) : "l"(from) : "memory");
    return w;
  }

  memory m_;
  const std::int32_t* outer_;
  int count_;  // pairs of the outer rows
  unsigned number_;
  std::int64_t first_row_;
  int polls_;  // threads that look for sums
  int first_;  // thread that gathers
  std::int32_t place_[flight];
  int vector_ = 0;
};

/// Through the shared memory of a cluster, which is the whole grid: one barrier an exchange. Hopper and later.
template <class T, int Block>
class cluster_exchange {
 public:
  struct memory {};

  /// `outer`: (part << 16) + row of the part. `published`: two vectors of `stride` values, at the same place in every
  /// block.
  __device__ cluster_exchange(const memory&, const std::int32_t* outer, int outer_rows, int, T* published, int stride)
      : outer_(outer), count_(outer_rows * pairs), published_(published), stride_(stride) {
#pragma unroll
    for (int u = 0; u < flight; ++u) place_[u] = place(static_cast<int>(threadIdx.x + u * blockDim.x));
  }

  static __device__ int parts() { return static_cast<int>(gridDim.x); }
  static __device__ int part() { return static_cast<int>(blockIdx.x); }

  __device__ void begin_sums() {}
  __device__ void begin() { vector_ ^= 1; }
  __device__ void put(int row, int i, T value) const { published_[vector_ * stride_ + row * Block + i] = value; }
  template <int Lanes = 32>
  __device__ double2 finish(double a, double b, T* outer_values, exchange_scratch& s) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    __shared__ double2 of_part[2][16];
    const auto cluster = cooperative_groups::this_cluster();
    sums_ ^= 1;
    leave_sums<Lanes>(a, b, s);
    __syncthreads();
    if (threadIdx.x < 32) {
      double2* const mine = &of_part[sums_][part()];
      const double sum = add_warp_sums(s);
      const int half = lane_id() / 16, to = lane_id() % 16;
      if (to < parts()) *cluster.map_shared_rank(half == 0 ? &mine->x : &mine->y, to) = sum;
    }
    __syncwarp();  // the cluster's barrier is for whole warps
    cluster.sync();
    const int lane = lane_id() % 16;
    const double2 all = sum_sixteen(lane < parts() ? of_part[sums_][lane] : double2{0, 0});
    if (outer_values != nullptr) {
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
    return all;
#else
    return {a, b};
#endif
  }
  /// Nobody's memory may go while others read it.
  __device__ void end() const {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    cooperative_groups::this_cluster().sync();
#endif
  }

 private:
  using values = typename pair_of<T, Block>::type;
  static constexpr int flight = 4;
  static constexpr int pairs = Block / pair_of<T, Block>::size;  // or single values

  /// Where a pair of the outer rows is: its part and its place there; below 0 behind the last.
  __device__ std::int32_t place(int at) const {
    if (at >= count_) return -1;
    const std::int32_t row = outer_[at / pairs];
    return ((row >> 16) << 24) + (row & 0xffff) * pairs + at % pairs;
  }
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  __device__ __forceinline__ void take_pairs(T* outer_values, int first, const std::int32_t (&place)[flight]) const {
    const auto cluster = cooperative_groups::this_cluster();
    values* const from = reinterpret_cast<values*>(published_ + vector_ * stride_);
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
  int stride_;
  std::int32_t place_[flight];
  int vector_ = 0;
  int sums_ = 0;
};

}  // namespace tulle::cuda
