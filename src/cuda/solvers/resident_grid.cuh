// How the thread blocks of cg.persistent tell each other vectors and sums: through global memory, without a barrier.
// Every word of 16 bytes carries the number of its exchange beside its data, so that who needs it waits for it alone
// (the LL protocol of NCCL): 12 bytes of a block row, or a sum. All blocks of the grid are resident.
#pragma once

#include <cstdint>

#include "cuda/solvers/resident_sums.cuh"

namespace tulle::cuda {

struct alignas(16) tagged_word {
  unsigned a, b, c, tag;
};

__device__ __forceinline__ void store_word(tagged_word* to, tagged_word w) {
  asm volatile(
      "{\n.reg .b64 l, h;\n.reg .b128 w;\nmov.b64 l, {%1, %2};\nmov.b64 h, {%3, %4};\nmov.b128 w, {l, h};\n"
      "st.relaxed.gpu.global.b128 [%0], w;\n}" ::"l"(to),
      "r"(w.a), "r"(w.b), "r"(w.c), "r"(w.tag)
      : "memory");
}
__device__ __forceinline__ tagged_word load_word(const tagged_word* from) {
  tagged_word w;
  asm volatile(
      "{\n.reg .b64 l, h;\n.reg .b128 w;\nld.relaxed.gpu.global.b128 w, [%4];\nmov.b128 {l, h}, w;\n"
      "mov.b64 {%0, %1}, l;\nmov.b64 {%2, %3}, h;\n}"
      : "=r"(w.a), "=r"(w.b), "=r"(w.c), "=r"(w.tag)
      : "l"(from)
      : "memory");
  return w;
}

template <class T, int Block>
class grid_exchange {
 public:
  static constexpr int units = Block * static_cast<int>(sizeof(T)) / 4;  // of 4 bytes, of a block row
  static constexpr int words = (units + 2) / 3;

  /// `vectors`: rows * words. `sums`: 2 * parts * parts * count. Of those nothing is read before it is written, but 0 is
  /// no number of an exchange.
  struct memory {
    tagged_word* vectors;
    tagged_word* sums;
    unsigned* number;  // of the last exchange
    bool push;
  };

  /// `outer`: numbers of block rows.
  __device__ grid_exchange(const memory& m, const std::int32_t* outer, int outer_rows, int first_row, T*)
      : m_(m), outer_(outer), count_(outer_rows * words), number_(*m.number), first_row_(first_row) {
#pragma unroll
    for (int u = 0; u < flight; ++u) place_[u] = place(static_cast<int>(threadIdx.x + u * blockDim.x));
  }

  static __device__ int parts() { return static_cast<int>(gridDim.x); }
  static __device__ int part() { return static_cast<int>(blockIdx.x); }

  /// A vector, row by row by whole warps: the lanes from `first` on, as many as a block has rows, have those of `row`.
  __device__ void begin_vector() { next(); }
  __device__ __forceinline__ void tell(int row, int first, bool active, T value) const {
    const int i = lane_id() - first;
    unsigned part[3];
#pragma unroll
    for (int j = 0; j < 3; ++j) {
      const int unit = min(3 * i + j, units - 1);
      if constexpr (sizeof(T) == 8) {
        const int from = (first + unit / 2) % 32;
        const unsigned low = __shfl_sync(full_warp, static_cast<unsigned>(__double2loint(value)), from);
        const unsigned high = __shfl_sync(full_warp, static_cast<unsigned>(__double2hiint(value)), from);
        part[j] = unit % 2 == 0 ? low : high;
      } else {
        part[j] = __shfl_sync(full_warp, __float_as_uint(value), (first + unit) % 32);
      }
    }
    if (active && i < words) {
      store_word(m_.vectors + std::int64_t{first_row_ + row} * words + i, {part[0], part[1], part[2], number_});
    }
  }
  /// The outer rows of the vector that was told last. A barrier of the block ends it.
  __device__ void take(T* outer_values) const {
    take_words(outer_values, static_cast<int>(threadIdx.x), place_);
    for (int first = static_cast<int>(threadIdx.x + flight * blockDim.x); first < count_;
         first += static_cast<int>(flight * blockDim.x)) {
      std::int32_t more[flight];
#pragma unroll
      for (int u = 0; u < flight; ++u) more[u] = place(static_cast<int>(first + u * blockDim.x));
      take_words(outer_values, first, more);
    }
    __syncwarp();  // threads of a warp come from their polls one by one
    __syncthreads();
  }

  /// All threads call it with their shares: the sums over all blocks, in every thread.
  template <class Stamp>
  __device__ __forceinline__ resident_sums add(const resident_sums& mine, resident_scratch& s, Stamp stamp) {
    next();
    parity_ ^= 1;
    s.leave(mine);
    __syncthreads();
    stamp(3);
    const int warp = static_cast<int>(threadIdx.x / 32), warps = static_cast<int>(blockDim.x / 32);
    const int groups = (parts() + 7) / 8;
    const int v = sum_of_lane();
    tagged_word* const all = m_.sums + parity_ * parts() * parts() * resident_sums::count;
    if (m_.push || warp == 0) {
      const double sum = s.add(s.of_warp, warps);
      const tagged_word w{static_cast<unsigned>(__double2loint(sum)), static_cast<unsigned>(__double2hiint(sum)), 0,
                          number_};
      if (!m_.push) {
        if (eighth() == 0) store_word(all + part() * resident_sums::count + v, w);
      } else {
        for (int g = warp; g < groups; g += warps) {
          const int to = 8 * g + eighth();
          if (to < parts()) store_word(all + (to * parts() + part()) * resident_sums::count + v, w);
        }
      }
    }
    stamp(4);
    const tagged_word* const from = all + (m_.push ? part() * parts() * resident_sums::count : 0);
    double sum = 0;
    for (int g = warp; g < groups; g += 2 * warps) {
      tagged_word got[2];
      bool there[2];
#pragma unroll
      for (int u = 0; u < 2; ++u) {
        there[u] = 8 * (g + u * warps) + eighth() >= parts();
        got[u] = {0, 0, 0, 0};
      }
      for (bool done = false; !done;) {
        done = true;
#pragma unroll
        for (int u = 0; u < 2; ++u) {
          if (!there[u]) got[u] = load_word(from + (8 * (g + u * warps) + eighth()) * resident_sums::count + v);
        }
#pragma unroll
        for (int u = 0; u < 2; ++u) {
          there[u] = there[u] || got[u].tag == number_;
          done = done && there[u];
        }
      }
#pragma unroll
      for (int u = 0; u < 2; ++u) sum += __hiloint2double(static_cast<int>(got[u].b), static_cast<int>(got[u].a));
    }
    __syncwarp();
    stamp(5);
    sum = add_eighths(sum);
    if (eighth() == 0) s.of_group[warp][v] = sum;
    __syncthreads();
    stamp(6);
    return everywhere(s.add(s.of_group, warps));
  }
  /// Nothing is left to others.
  __device__ void end() const {
    if (blockIdx.x == 0 && threadIdx.x == 0) *m_.number = number_;
  }

 private:
  static constexpr int flight = 4;  // loads of a thread that are under way together

  __device__ void next() { number_ += number_ == 0xffffffffu ? 2 : 1; }  // never 0
  /// Where a word of the outer rows is; below 0 behind the last.
  __device__ std::int32_t place(int at) const {
    return at < count_ ? outer_[at / words] * words + at % words : -1;
  }
  __device__ __forceinline__ void take_words(T* outer_values, int first, const std::int32_t (&place)[flight]) const {
    tagged_word got[flight];
    bool there[flight];
#pragma unroll
    for (int u = 0; u < flight; ++u) there[u] = place[u] < 0;
    for (bool all = false; !all;) {
      all = true;
#pragma unroll
      for (int u = 0; u < flight; ++u) {
        if (!there[u]) got[u] = load_word(m_.vectors + place[u]);
      }
#pragma unroll
      for (int u = 0; u < flight; ++u) {
        there[u] = there[u] || got[u].tag == number_;
        all = all && there[u];
      }
    }
#pragma unroll
    for (int u = 0; u < flight; ++u) {
      if (place[u] < 0) continue;
      const int at = first + u * static_cast<int>(blockDim.x);
      const int word = at % words;
      unsigned* const to = reinterpret_cast<unsigned*>(outer_values) + at / words * units + 3 * word;
      to[0] = got[u].a;
      if (3 * word + 1 < units) to[1] = got[u].b;
      if (3 * word + 2 < units) to[2] = got[u].c;
    }
  }

  memory m_;
  const std::int32_t* outer_;
  int count_;  // words of the outer rows
  unsigned number_;
  int first_row_;
  std::int32_t place_[flight];
  int parity_ = 0;
};

}  // namespace tulle::cuda
