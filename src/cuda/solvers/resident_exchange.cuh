// How the thread blocks of a resident solver (resident.cuh) tell each other sums and vectors. Both ways add the sums of
// the blocks in the same order everywhere, so that all blocks decide alike.
#pragma once

#include <cooperative_groups.h>

#include <cstdint>
#include <type_traits>

#include "cuda/solvers/block_sums.cuh"

namespace tulle::cuda {

/// Sums of the warps of a block, and of the blocks.
struct exchange_scratch : warp_sums {
  double of_all[32][2];
};

/// Through global memory, without a barrier: every word carries the number of its exchange beside 32 bits of data, so that
/// who needs it waits for it alone (the LL protocol of NCCL). All blocks of the grid are resident.
template <class T, int Block>
class grid_exchange {
 public:
  /// Words for a block row of a vector: whole pairs.
  static constexpr int words = sizeof(T) == 8 ? 2 * Block : (Block + 1) / 2 * 2;

  /// `vectors`: 2 * rows * words words. `sums`: 2 * parts * 4 words. Of those nothing is read before it is written, but 0
  /// is no number of an exchange.
  struct memory {
    std::uint64_t* vectors;
    std::uint64_t* sums;
    unsigned* number;  // of the last exchange
    std::int64_t rows;
  };

  /// `outer`: numbers of block rows.
  __device__ grid_exchange(const memory& m, const std::int32_t* outer, int outer_rows, int first_row, T*, int)
      : m_(m), outer_(outer), outer_rows_(outer_rows), number_(*m.number), first_row_(first_row) {}

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
  /// All threads call it with their shares. The sums of all blocks, and where `vector` is not null the outer rows of what
  /// was put, from vector[rows * Block] on. A barrier of the block ends it.
  __device__ double2 finish(double a, double b, T* outer_values, exchange_scratch& s) {
    leave_warp_sums(a, b, s);
    __syncthreads();
    const int polling = (parts() + 31) / 32 * 32;
    std::uint64_t* const sums = m_.sums + (number_ & 1) * 4 * parts();
    if (threadIdx.x < 32) {
      const double sum = add_warp_sums(s);
      if (lane_id() % 16 == 0) put_double(sums + 4 * part() + 2 * (lane_id() / 16), sum);
    }
    const bool shares = static_cast<int>(blockDim.x) <= polling;  // too few warps to tell polling from gathering
    if (static_cast<int>(threadIdx.x) < polling) {
      double x = 0, y = 0;
      for (int g = static_cast<int>(threadIdx.x); g < parts(); g += static_cast<int>(blockDim.x)) {
        x += get_double(sums + 4 * g);
        y += get_double(sums + 4 * g + 2);
      }
      x = warp_sum(x);
      y = warp_sum(y);
      if (lane_id() == 0) {
        s.of_all[threadIdx.x / 32][0] = x;
        s.of_all[threadIdx.x / 32][1] = y;
      }
    }
    if (outer_values != nullptr && (shares || static_cast<int>(threadIdx.x) >= polling)) {
      const int first = shares ? 0 : polling;
      gather(outer_values, static_cast<int>(threadIdx.x) - first, static_cast<int>(blockDim.x) - first);
    }
    __syncthreads();
    double2 all{0, 0};
    for (int w = 0; w < min(polling, static_cast<int>(blockDim.x)) / 32; ++w) {
      all.x += s.of_all[w][0];
      all.y += s.of_all[w][1];
    }
    return all;
  }
  /// Nothing is left to others.
  __device__ void end() const {
    if (blockIdx.x == 0 && threadIdx.x == 0) *m_.number = number_;
  }

 private:
  static constexpr int flight = 8;  // loads of a thread that are under way together

  __device__ void gather(T* outer_values, int thread, int threads) const {
    constexpr int pairs = words / 2;
    const int count = outer_rows_ * pairs;
    const std::uint64_t* const from = m_.vectors + vector_ * m_.rows * words;
    for (int first = thread; first < count; first += flight * threads) {
      ulonglong2 got[flight];
      const std::uint64_t* place[flight];
      bool there[flight];
#pragma unroll
      for (int u = 0; u < flight; ++u) {
        const int at = first + u * threads;
        there[u] = at >= count;
        place[u] = from + std::int64_t{outer_[min(at, count - 1) / pairs]} * words + 2 * (at % pairs);
      }
      for (bool all = false; !all;) {
        all = true;
#pragma unroll
        for (int u = 0; u < flight; ++u) {
          if (!there[u]) got[u] = load(place[u]);
        }
#pragma unroll
        for (int u = 0; u < flight; ++u) {
          there[u] = there[u] || (tag(got[u].x) == number_ && tag(got[u].y) == number_);
          all = all && there[u];
        }
      }
#pragma unroll
      for (int u = 0; u < flight; ++u) {
        const int at = first + u * threads;
        if (at >= count) continue;
        const int row = at / pairs, i = at % pairs;
        if constexpr (sizeof(T) == 8) {
          outer_values[row * Block + i] = joined(got[u]);
        } else {
          outer_values[row * Block + 2 * i] = __uint_as_float(static_cast<unsigned>(got[u].x));
          if (2 * i + 1 < Block) outer_values[row * Block + 2 * i + 1] = __uint_as_float(static_cast<unsigned>(got[u].y));
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
  __device__ double get_double(const std::uint64_t* from) const {
    ulonglong2 w;
    do w = load(from);
    while (tag(w.x) != number_ || tag(w.y) != number_);
    return joined(w);
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
  int outer_rows_;
  unsigned number_;
  std::int64_t first_row_;
  int vector_ = 0;
};

/// Through the shared memory of a cluster, which is the whole grid: one barrier an exchange. Hopper and later.
template <class T, int Block>
class cluster_exchange {
 public:
  struct memory {};

  /// `outer`: (part << 16) + row of the part. `published`: 2 * most_rows * Block values, at the same place in every block.
  __device__ cluster_exchange(const memory&, const std::int32_t* outer, int outer_rows, int, T* published, int most_rows)
      : outer_(outer), outer_rows_(outer_rows), published_(published), most_rows_(most_rows) {}

  static __device__ int parts() { return static_cast<int>(gridDim.x); }
  static __device__ int part() { return static_cast<int>(blockIdx.x); }

  __device__ void begin_sums() {}
  __device__ void begin() { vector_ ^= 1; }
  __device__ void put(int row, int i, T value) const {
    published_[(vector_ * most_rows_ + row) * Block + i] = value;
  }
  __device__ double2 finish(double a, double b, T* outer_values, exchange_scratch& s) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    __shared__ double of_part[2][16][2];
    const auto cluster = cooperative_groups::this_cluster();
    sums_ ^= 1;
    leave_warp_sums(a, b, s);
    __syncthreads();
    if (threadIdx.x < 32) {
      const double sum = add_warp_sums(s);
      const int half = lane_id() / 16, to = lane_id() % 16;
      if (to < parts()) *cluster.map_shared_rank(&of_part[sums_][part()][half], to) = sum;
    }
    cluster.sync();
    if (outer_values != nullptr) {
      const int count = outer_rows_ * Block;
      const T* const from = published_ + vector_ * most_rows_ * Block;
#pragma unroll 4
      for (int at = static_cast<int>(threadIdx.x); at < count; at += static_cast<int>(blockDim.x)) {
        const std::int32_t row = outer_[at / Block];
        outer_values[at] = cluster.map_shared_rank(from, row >> 16)[(row & 0xffff) * Block + at % Block];
      }
      __syncthreads();
    }
    double2 all{0, 0};
    for (int g = 0; g < parts(); ++g) {
      all.x += of_part[sums_][g][0];
      all.y += of_part[sums_][g][1];
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
  const std::int32_t* outer_;
  int outer_rows_;
  T* published_;
  int most_rows_;
  int vector_ = 0;
  int sums_ = 0;
};

}  // namespace tulle::cuda
