// Slices of 64 lanes of a stencil: up to 8 positions, which all lanes have, and no offsets. All positions of a lane are
// in flight at once, the thread's second lane behind the first. Where a slice's values are is kept in L2 from one
// application to the next, as a slice waits for that before it reads anything.
#pragma once

#include <cstdint>

#include "cuda/spmv/packed_walk.cuh"

namespace tulle::cuda {

/// A read that L2 keeps, on the devices that can.
__device__ __forceinline__ int4 load_kept(const int4* from) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  std::uint64_t keep;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(keep));
  int4 v;
  asm("ld.global.nc.L2::cache_hint.v4.s32 {%0, %1, %2, %3}, [%4], %5;"
      : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
      : "l"(from), "l"(keep));
  return v;
#else
  return __ldg(from);
#endif
}

__device__ __forceinline__ packed_slice load_slice_kept(const packed_pattern& a, std::int64_t i) {
  union {
    int4 words[2];
    packed_slice slice;
  } u;
  const auto* const from = reinterpret_cast<const int4*>(a.slice + i);
  u.words[0] = load_kept(from);
  u.words[1] = load_kept(from + 1);
  return u.slice;
}

inline constexpr int short_most = 8;  // positions

__device__ __forceinline__ bool is_short(const packed_slice& s) {
  return s.offset_bytes == 0 && s.full == s.width && s.full <= short_most && s.lanes_log2 == 0 &&
         s.origin == packed_origin::row;
}

/// As walk_slice, of a slice that is_short.
template <class Values, class Take>
__device__ __forceinline__ void walk_short(const packed_pattern& a, const packed_slice& s, const packed_lane (&lane)[2],
                                           const Values& values, Take take) {
  const auto* const base = reinterpret_cast<const int4*>(a.base + std::int64_t{s.bases} * packed_base_group);
  const int4 b0 = load_kept(base), b1 = s.full > packed_base_group ? load_kept(base + 1) : int4{0, 0, 0, 0};
  const index_t b[short_most] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
  const Values from = values.from(s.values, lane_id());
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    typename Values::raw v[short_most];
#pragma unroll
    for (int i = 0; i < short_most; ++i) v[i] = i < s.full ? from.load(i, i * 64 + 32 * h) : typename Values::raw{0};
#pragma unroll
    for (int i = 0; i < short_most; ++i) {
      if (i < s.full) take(h, values.of(v[i]), b[i] + lane[h].row);
    }
  }
}

}  // namespace tulle::cuda
