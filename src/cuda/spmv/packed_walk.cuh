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

/// Calls take(half, value, column) for the entries of the thread's lanes, each lane's in order. `Halves`: lanes a thread;
/// `Flight`: positions in flight, a multiple of 4.
template <int Halves, int Flight, class Offset, class T, class Take>
__device__ __forceinline__ void walk_slice(const packed_pattern& a, const packed_slice& s, const packed_lane (&lane)[Halves],
                                           const T* __restrict__ values, Take take) {
  static_assert(Flight % packed_base_group == 0);
  constexpr bool absolute = std::is_same_v<Offset, std::int32_t>;
  constexpr int height = 32 * Halves;
  const int lane_id = static_cast<int>(threadIdx.x % 32);
  const auto* const base = reinterpret_cast<const int4*>(a.base) + s.bases;
  const auto* const offsets = reinterpret_cast<const Offset*>(a.offsets + s.offsets) + lane_id;
  const T* const slice_values = values + s.values + lane_id;
  index_t origin[Halves];
#pragma unroll
  for (int h = 0; h < Halves; ++h) origin[h] = absolute ? 0 : origin_of(s.origin, lane[h], a.block);

  // Two rounds of values ahead of the loads, a line a lane.
  constexpr int lines = Flight * height * static_cast<int>(sizeof(T)) / 128;
  const auto* ahead = reinterpret_cast<const char*>(values + s.values) + 128 * (2 * lines + lane_id);
  const auto* const end = reinterpret_cast<const char*>(values + s.values + s.full * height);

  for (int p = 0; p < s.full; p += Flight) {
    if (lane_id < lines && ahead < end) prefetch_l2(ahead);
    ahead += 128 * lines;
    T value[Flight][Halves];
    index_t column[Flight][Halves];
#pragma unroll
    for (int i = 0; i < Flight; ++i) {
      const bool live = p + i < s.full;  // the same for all lanes
#pragma unroll
      for (int h = 0; h < Halves; ++h) {
        const int at = (p + i) * height + 32 * h;
        column[i][h] = live ? origin[h] + read_offset(offsets, at) : 0;
        value[i][h] = live ? load_stream(slice_values + at) : T{0};
      }
    }
    if constexpr (!absolute) {
#pragma unroll
      for (int i = 0; i < Flight; i += packed_base_group) {
        if (p + i >= s.full) break;
        const int4 b = __ldg(base + (p + i) / packed_base_group);
#pragma unroll
        for (int h = 0; h < Halves; ++h) {
          column[i][h] += b.x;
          column[i + 1][h] += b.y;
          column[i + 2][h] += b.z;
          column[i + 3][h] += b.w;
        }
      }
    }
#pragma unroll
    for (int i = 0; i < Flight; ++i) {
#pragma unroll
      for (int h = 0; h < Halves; ++h) {
        if (p + i < s.full) take(h, value[i][h], column[i][h]);
      }
    }
  }

  // The ragged end: what is there is packed, position after position.
  const unsigned below = (1u << lane_id) - 1;
  int before = s.full * height - lane_id;
  constexpr int flight = packed_base_group / Halves;
  for (int p = s.full; p < s.width; p += flight) {
    T value[flight][Halves];
    index_t column[flight][Halves];
#pragma unroll
    for (int i = 0; i < flight; ++i) {
#pragma unroll
      for (int h = 0; h < Halves; ++h) {
        const bool live = p + i < lane[h].count;
        const unsigned active = __ballot_sync(0xffffffffu, live);
        const int at = before + __popc(active & below);
        before += __popc(active);
        column[i][h] = live ? origin[h] + read_offset(offsets, at) : 0;
        value[i][h] = live ? load_stream(slice_values + at) : T{0};
      }
    }
#pragma unroll
    for (int i = 0; i < flight; ++i) {
#pragma unroll
      for (int h = 0; h < Halves; ++h) {
        if (p + i >= lane[h].count) continue;
        if constexpr (!absolute) column[i][h] += __ldg(a.base + std::int64_t{s.bases} * packed_base_group + p + i);
        take(h, value[i][h], column[i][h]);
      }
    }
  }
}

/// walk_slice for the width of the slice's offsets.
template <int Halves, int Flight, class T, class Take>
__device__ __forceinline__ void walk_slice(const packed_pattern& a, const packed_slice& s, const packed_lane (&lane)[Halves],
                                           const T* __restrict__ values, Take take) {
  switch (s.offset_bytes) {
    case 0: return walk_slice<Halves, Flight, no_offset>(a, s, lane, values, take);
    case 1: return walk_slice<Halves, Flight, std::uint8_t>(a, s, lane, values, take);
    case 2: return walk_slice<Halves, Flight, std::uint16_t>(a, s, lane, values, take);
    default: return walk_slice<Halves, Flight, std::int32_t>(a, s, lane, values, take);
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
