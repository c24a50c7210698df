// Walking a slice of the packed storage: every entry of a lane, several positions at a time so that their loads are in
// flight together.
#pragma once

#include <type_traits>

#include "cuda/device/load.cuh"
#include "cuda/spmv/packed_format.cuh"

namespace tulle::cuda {

struct no_offset {};

template <class Offset>
__device__ __forceinline__ index_t read_offset(const Offset* offsets, int at) {
  if constexpr (std::is_same_v<Offset, no_offset>) {
    return 0;
  } else {
    return static_cast<index_t>(load_stream(offsets + at));
  }
}

/// Calls take(value, column) for the lane's entries in order. `Flight`: positions in flight, a multiple of 4.
template <int Flight, class Offset, class T, class Take>
__device__ __forceinline__ void walk_slice(const packed_pattern& a, const packed_slice& s, const packed_lane& lane,
                                           const T* __restrict__ values, Take take) {
  static_assert(Flight % packed_base_group == 0);
  constexpr bool absolute = std::is_same_v<Offset, std::int32_t>;
  const int lane_id = static_cast<int>(threadIdx.x % 32);
  const auto* const base = reinterpret_cast<const int4*>(a.base) + s.bases;
  const auto* const offsets = reinterpret_cast<const Offset*>(a.offsets + s.offsets);
  const T* const slice_values = values + s.values;
  const index_t origin = absolute ? 0 : origin_of(s.origin, lane, a.block);

  for (int p = 0; p < s.full; p += Flight) {
    T value[Flight];
    index_t column[Flight];
#pragma unroll
    for (int i = 0; i < Flight; ++i) {
      const bool live = p + i < s.full;  // the same for all lanes
      const int at = (p + i) * 32 + lane_id;
      column[i] = live ? origin + read_offset(offsets, at) : 0;
      value[i] = live ? load_stream(slice_values + at) : T{0};
    }
    if constexpr (!absolute) {
#pragma unroll
      for (int i = 0; i < Flight; i += packed_base_group) {
        if (p + i >= s.full) break;
        const int4 b = __ldg(base + (p + i) / packed_base_group);
        column[i] += b.x;
        column[i + 1] += b.y;
        column[i + 2] += b.z;
        column[i + 3] += b.w;
      }
    }
#pragma unroll
    for (int i = 0; i < Flight; ++i) {
      if (p + i < s.full) take(value[i], column[i]);
    }
  }

  // The ragged end: what is there is packed, position after position.
  const unsigned below = (1u << lane_id) - 1;
  int before = s.full * 32;
  for (int p = s.full; p < s.width; p += packed_base_group) {
    T value[packed_base_group];
    index_t column[packed_base_group];
#pragma unroll
    for (int i = 0; i < packed_base_group; ++i) {
      const bool live = p + i < lane.count;
      const unsigned active = __ballot_sync(0xffffffffu, live);
      const int at = before + __popc(active & below);
      before += __popc(active);
      column[i] = live ? origin + read_offset(offsets, at) : 0;
      value[i] = live ? load_stream(slice_values + at) : T{0};
    }
    if constexpr (!absolute) {
#pragma unroll
      for (int i = 0; i < packed_base_group; ++i) {
        if (p + i < lane.count) column[i] += __ldg(a.base + std::int64_t{s.bases} * packed_base_group + p + i);
      }
    }
#pragma unroll
    for (int i = 0; i < packed_base_group; ++i) {
      if (p + i < lane.count) take(value[i], column[i]);
    }
  }
}

/// walk_slice for the width of the slice's offsets.
template <int Flight, class T, class Take>
__device__ __forceinline__ void walk_slice(const packed_pattern& a, const packed_slice& s, const packed_lane& lane,
                                           const T* __restrict__ values, Take take) {
  switch (s.offset_bytes) {
    case 0: return walk_slice<Flight, no_offset>(a, s, lane, values, take);
    case 1: return walk_slice<Flight, std::uint8_t>(a, s, lane, values, take);
    case 2: return walk_slice<Flight, std::uint16_t>(a, s, lane, values, take);
    default: return walk_slice<Flight, std::int32_t>(a, s, lane, values, take);
  }
}

/// A slice's descriptor, by two loads that all lanes share.
__device__ __forceinline__ packed_slice load_slice(const packed_pattern& a, std::int64_t i) {
  union {
    int4 words[2];
    packed_slice slice;
  } u;
  const auto* const from = reinterpret_cast<const int4*>(a.slice + i);
  u.words[0] = __ldg(from);
  u.words[1] = __ldg(from + 1);
  return u.slice;
}

}  // namespace tulle::cuda
