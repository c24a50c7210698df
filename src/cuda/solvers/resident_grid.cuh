// How the thread blocks of cg.persistent tell each other vectors and sums: through global memory, without a barrier.
// Every word of 16 bytes carries the number of its exchange beside its data, so that who needs it waits for it alone
// (the LL protocol of NCCL): 12 bytes of a block row, or a sum. All blocks of the grid are resident.
#pragma once

#include <cstdint>

#include "cuda/solvers/resident_lanes.cuh"
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

/// The tag, made of what carries no data too: else the compiler narrows the load to several, and data and tag may come
/// from different words.
template <int Units>
__device__ __forceinline__ unsigned tag_of(const tagged_word& w) {
  return w.tag ^ (Units < 3 ? w.c : 0) ^ (Units < 2 ? w.b : 0);
}

template <class T, int Block, int Trial>
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

  /// `outer`: numbers of block rows, whose values come behind those of `rows` of the part's in `columns`.
  __device__ grid_exchange(const memory& m, const std::int32_t* outer, int outer_rows, int first_row, int rows,
                           T* columns, const std::int32_t*, int)
      : m_(m),
        outer_(outer),
        count_(outer_rows * words),
        number_(*m.number),
        first_row_(first_row),
        outer_values_(reinterpret_cast<unsigned*>(columns + rows * Block)) {
#pragma unroll
    for (int u = 0; u < flight; ++u) place_[u] = place(static_cast<int>(threadIdx.x) + u * resident_threads);
    const int lane = lane_id() % width;
    word_ = min(lane, words - 1);
    stores_ = lane < words;
#pragma unroll
    for (int u = 0; u < sources; ++u) {
      const int element = min(sizeof(T) == 8 ? 3 * word_ / 2 + u : 3 * word_ + u, Block - 1);
      source_[u] = lane_id() / width * width + resident_lanes<Block>::of_row(element);
    }
  }

  __device__ void prepare() const {}
  static __device__ int parts() { return static_cast<int>(gridDim.x); }
  static __device__ int part() { return static_cast<int>(blockIdx.x); }

  /// A vector, row by row by whole warps.
  __device__ void begin_vector() { next(); }
  __device__ __forceinline__ void tell(int row, bool active, T value) const {
    tagged_word w;
    if constexpr (sizeof(T) == 8) {  // three halves of two values
      const auto low = static_cast<unsigned>(__double2loint(value)),
                 high = static_cast<unsigned>(__double2hiint(value));
      const unsigned low_0 = __shfl_sync(full_warp, low, source_[0]), high_0 = __shfl_sync(full_warp, high, source_[0]),
                     low_1 = __shfl_sync(full_warp, low, source_[1]), high_1 = __shfl_sync(full_warp, high, source_[1]);
      w = word_ % 2 == 0 ? tagged_word{low_0, high_0, low_1, number_} : tagged_word{high_0, low_1, high_1, number_};
    } else {
      const unsigned own = __float_as_uint(value);
      w = {__shfl_sync(full_warp, own, source_[0]), __shfl_sync(full_warp, own, source_[1]),
           __shfl_sync(full_warp, own, source_[2]), number_};
    }
    if constexpr (units < 3) w.c = 0;
    if constexpr (units < 2) w.b = 0;
    if (active && stores_) store_word(m_.vectors + ((first_row_ + row) * words + word_), w);
  }
  /// The outer rows of the vector that was told last. A barrier of the block ends it.
  __device__ __forceinline__ void take() const {
    take_words(place_, static_cast<int>(threadIdx.x));
#pragma unroll 1
    for (int first = static_cast<int>(threadIdx.x) + flight * resident_threads; first < count_;
         first += flight * resident_threads) {
      int from[flight];
#pragma unroll
      for (int u = 0; u < flight; ++u) from[u] = place(first + u * resident_threads);
      take_words(from, first);
    }
    __syncwarp();  // threads of a warp come from their polls one by one
  }

  /// By warp v, one of the first four: the sum over all parts, in every lane.
  __device__ __forceinline__ double add(int v, double sum) {
    skip();
    const int stride = 2 * resident_sums::count * parts();
    tagged_word* const own = m_.sums + (parity_ * resident_sums::count + v) * parts();
    if (lane_id() < replicas) {
      store_word(own + lane_id() * stride + part(),
                 {static_cast<unsigned>(__double2loint(sum)), static_cast<unsigned>(__double2hiint(sum)), 0, number_});
    }
    const tagged_word* const sums = own + part() % replicas * stride;
    double all = 0;
#pragma unroll 1
    for (int first = lane_id(); first < parts(); first += 32 * polls) {
      double got[polls];
      unsigned missing = 0;
#pragma unroll
      for (int u = 0; u < polls; ++u) {
        got[u] = 0;
        if (first + 32 * u < parts()) missing |= 1u << u;
      }
      if constexpr ((Trial & 2) != 0) {
        poll(sums + first, missing, got);
      } else if constexpr ((Trial & 64) != 0) {
        tagged_word one[polls], other[polls];
        ask(sums + first, missing, one);
        for (const unsigned from_now = static_cast<unsigned>(clock()); static_cast<unsigned>(clock()) - from_now < 300;) {
        }
        for (;;) {
          ask(sums + first, missing, other);
          hear(one, missing, got);
          if (missing == 0) break;
          ask(sums + first, missing, one);
          hear(other, missing, got);
          if (missing == 0) break;
        }
      } else {
        while (missing != 0) poll(sums + first, missing, got);
      }
#pragma unroll
      for (int u = 0; u < polls; ++u) all += got[u];
    }
    __syncwarp();
    return (Trial & 8) != 0 ? warp_sum(all) : warp_total(all);
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
  static constexpr int width = resident_width(Block);
  static constexpr int flight = sizeof(T) == 8 ? 6 : 4;   // loads of a thread that are under way together
  static constexpr int polls = 5;                         // the same, of sums
  static constexpr int sources = sizeof(T) == 8 ? 2 : 3;  // values that are in a word

  static constexpr int replicas = (Trial & 128) != 0 ? 4 : 1;
  static __device__ __forceinline__ void ask(const tagged_word* from, unsigned missing, tagged_word (&got)[polls]) {
#pragma unroll
    for (int u = 0; u < polls; ++u) {
      if ((missing >> u & 1) != 0) got[u] = load_word(from + 32 * u);
    }
  }
  __device__ __forceinline__ void hear(const tagged_word (&from)[polls], unsigned& missing, double (&got)[polls]) const {
#pragma unroll
    for (int u = 0; u < polls; ++u) {
      if ((missing >> u & 1) == 0 || ((Trial & 2) == 0 && tag_of<2>(from[u]) != number_)) continue;
      missing ^= 1u << u;
      got[u] = __hiloint2double(static_cast<int>(from[u].b), static_cast<int>(from[u].a));
    }
  }
  __device__ __forceinline__ void poll(const tagged_word* from, unsigned& missing, double (&got)[polls]) const {
    tagged_word one[polls];
    ask(from, missing, one);
    hear(one, missing, got);
  }
  __device__ void next() { number_ += number_ == 0xffffffffu ? 2 : 1; }  // never 0
  /// Where a word of the outer rows is; below 0 behind the last.
  __device__ int place(int at) const { return at < count_ ? outer_[at / words] * words + at % words : -1; }
  __device__ __forceinline__ void take_words(const int (&from)[flight], int at) const {
    unsigned missing = 0;
#pragma unroll
    for (int u = 0; u < flight; ++u) missing |= from[u] >= 0 ? 1u << u : 0;
    while (missing != 0) {
      tagged_word got[flight];
#pragma unroll
      for (int u = 0; u < flight; ++u) {
        if ((missing >> u & 1) != 0) got[u] = load_word(m_.vectors + from[u]);
      }
#pragma unroll
      for (int u = 0; u < flight; ++u) {
        if ((missing >> u & 1) == 0 || ((Trial & 2) == 0 && tag_of<units>(got[u]) != number_)) continue;
        missing ^= 1u << u;
        keep(at + u * resident_threads, got[u]);
      }
    }
  }
  /// The units of a word, where the product reads them.
  __device__ __forceinline__ void keep(int at, const tagged_word& w) const {
    const int in_row = at % words * 3;
    unsigned* const unit = outer_values_ + (units % 3 == 0 ? at * 3 : at / words * units + in_row);
    const bool whole = units % 3 == 0 || in_row + 2 < units;
    unit[0] = w.a;
    if (whole || in_row + 1 < units) unit[1] = w.b;
    if (whole) unit[2] = w.c;
  }

  memory m_;
  const std::int32_t* outer_;
  int count_;  // words of the outer rows
  unsigned number_;
  int first_row_;
  unsigned* outer_values_;
  int word_;     // of a row, that the lane stores
  bool stores_;  // if it does
  int source_[sources];  // lanes whose values are in it
  int place_[flight];
  int parity_ = 0;
};

}  // namespace tulle::cuda
