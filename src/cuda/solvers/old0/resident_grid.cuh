// How the thread blocks of cg.persistent tell each other vectors and sums: through global memory, without a barrier.
// Every word of 16 bytes carries the number of its exchange beside its data, so that who needs it waits for it alone
// (the LL protocol of NCCL): 12 bytes of a block row, or a sum. All blocks of the grid are resident.
#pragma once

#include <cstdint>

#include "cuda/solvers/old0/resident_sums.cuh"

namespace tulle::cuda::old0 {

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

/// The tag, made of what carries no data too: else the compiler narrows the load to several, and data and tag may come
/// from different words.
template <int Units>
__device__ __forceinline__ unsigned tag_of(const tagged_word& w) {
  return w.tag ^ (Units < 3 ? w.c : 0) ^ (Units < 2 ? w.b : 0);
}

template <class T, int Block>
class grid_exchange {
 public:
  static constexpr int units = Block * static_cast<int>(sizeof(T)) / 4;  // of 4 bytes, of a block row
  static constexpr int words = (units + 2) / 3;                          // 3 units each

  /// `vectors`: rows * words. `sums`: 2 * count * parts. Of those nothing is read before it is written, but 0 is
  /// no number of an exchange.
  struct memory {
    tagged_word* vectors;
    tagged_word* sums;
    unsigned* number;  // of the last exchange
  };

  /// `outer`: numbers of block rows, whose values come behind `own` of the part's in `columns`. `i`: of the lane in a
  /// row.
  __device__ grid_exchange(const memory& m, const std::int32_t* outer, int outer_rows, int first_row, int own,
                           T* columns, int i)
      : m_(m),
        outer_(outer),
        count_(outer_rows * words),
        number_(*m.number),
        first_row_(first_row),
        outer_values_(columns + own),
        word_(sizeof(T) == 8 ? i / 3 * 2 + i % 3 : i / 3),
        stores_(i % 3 < static_cast<int>(sizeof(T)) / 4) {
#pragma unroll
    for (int u = 0; u < flight; ++u) {
      const int at = static_cast<int>(threadIdx.x + u * blockDim.x);
      place_[u] = place(at);
      into_[u] = into(at);
    }
  }

  static __device__ int parts() { return static_cast<int>(gridDim.x); }
  static __device__ int part() { return static_cast<int>(blockIdx.x); }

  /// A vector, row by row by whole warps: `Block` neighbouring lanes have the values of a row.
  __device__ void begin_vector() { next(); }
  __device__ __forceinline__ void tell(int row, bool active, T value) const {
    tagged_word w;
    if constexpr (sizeof(T) == 8) {  // three values in two words, of the first two lanes of three
      const auto low = static_cast<unsigned>(__double2loint(value)),
                 high = static_cast<unsigned>(__double2hiint(value));
      const unsigned low_1 = __shfl_down_sync(full_warp, low, 1), high_1 = __shfl_down_sync(full_warp, high, 1);
      w = word_ % 2 == 0 ? tagged_word{low, high, low_1, number_} : tagged_word{high, low_1, high_1, number_};
    } else {
      const unsigned own = __float_as_uint(value);
      w = {own, __shfl_down_sync(full_warp, own, 1), __shfl_down_sync(full_warp, own, 2), number_};
    }
    if constexpr (units < 3) w.c = 0;
    if constexpr (units < 2) w.b = 0;
    if (active && stores_) store_word(m_.vectors + ((first_row_ + row) * words + word_), w);
  }
  /// The outer rows of the vector that was told last. A barrier of the block ends it.
  __device__ __forceinline__ void take() const {
    take_words(place_, into_);
#pragma unroll 1
    for (int first = static_cast<int>(threadIdx.x + flight * blockDim.x); first < count_;
         first += static_cast<int>(flight * blockDim.x)) {
      int from[flight], to[flight];
#pragma unroll
      for (int u = 0; u < flight; ++u) {
        const int at = static_cast<int>(first + u * blockDim.x);
        from[u] = place(at);
        to[u] = into(at);
      }
      take_words(from, to);
    }
    __syncwarp();  // threads of a warp come from their polls one by one
    __syncthreads();
  }

  /// By warp v, one of the first four: the sum over all parts, in every lane.
  __device__ __forceinline__ double add(int v, double sum) {
    skip();
    tagged_word* const sums = m_.sums + (parity_ * resident_sums::count + v) * parts();
    if (lane_id() == 0) {
      store_word(sums + part(),
                 {static_cast<unsigned>(__double2loint(sum)), static_cast<unsigned>(__double2hiint(sum)), 0, number_});
    }
    double all = 0;
#pragma unroll 1
    for (int first = lane_id(); first < parts(); first += 32 * polls) {
      tagged_word got[polls];
      for (bool done = false; !done;) {
        done = true;
#pragma unroll
        for (int u = 0; u < polls; ++u) got[u] = load_word(sums + min(first + 32 * u, parts() - 1));
#pragma unroll
        for (int u = 0; u < polls; ++u) done = done && tag_of<2>(got[u]) == number_;
      }
#pragma unroll
      for (int u = 0; u < polls; ++u) {
        if (first + 32 * u < parts()) all += __hiloint2double(static_cast<int>(got[u].b), static_cast<int>(got[u].a));
      }
    }
    __syncwarp();
    return warp_sum(all);
  }
  /// By those that do not.
  __device__ void skip() {
    next();
    parity_ ^= 1;
  }
  /// Nothing is left to others.
  __device__ void end() const {
    if (blockIdx.x == 0 && threadIdx.x == 0) *m_.number = number_;
  }

 private:
  static constexpr int flight = sizeof(T) == 8 ? 6 : 4;  // loads of a thread that are under way together
  static constexpr int polls = 5;                        // the same, of sums

  __device__ void next() { number_ += number_ == 0xffffffffu ? 2 : 1; }  // never 0
  /// Where a word of the outer rows is; below 0 behind the last.
  __device__ int place(int at) const { return at < count_ ? outer_[at / words] * words + at % words : -1; }
  /// Where its three units go.
  static __device__ int into(int at) { return at / words * units + at % words * 3; }
  __device__ __forceinline__ void take_words(const int (&from)[flight], const int (&to)[flight]) const {
    tagged_word got[flight];
    for (bool all = false; !all;) {
      all = true;
#pragma unroll
      for (int u = 0; u < flight; ++u) {
        if (from[u] >= 0) got[u] = load_word(m_.vectors + from[u]);
      }
#pragma unroll
      for (int u = 0; u < flight; ++u) all = all && (from[u] < 0 || tag_of<units>(got[u]) == number_);
    }
#pragma unroll
    for (int u = 0; u < flight; ++u) {
      if (from[u] < 0) continue;
      unsigned* const unit = reinterpret_cast<unsigned*>(outer_values_) + to[u];
      const bool whole = units % 3 == 0 || to[u] % units + 2 < units;
      unit[0] = got[u].a;
      if (whole || to[u] % units + 1 < units) unit[1] = got[u].b;
      if (whole) unit[2] = got[u].c;
    }
  }

  memory m_;
  const std::int32_t* outer_;
  int count_;  // words of the outer rows
  unsigned number_;
  int first_row_;
  T* outer_values_;
  int word_;     // of a row, that the lane stores
  bool stores_;  // if it does
  int place_[flight], into_[flight];
  int parity_ = 0;
};

}  // namespace tulle::cuda
