// Walking a slice of the packed storage: every entry of a lane, several positions at a time so that their loads
// overlap.
#pragma once

#include <type_traits>

#include "cuda/device/load.cuh"
#include "cuda/device/warp.cuh"
#include "cuda/spmv/packed_format.cuh"
#include "cuda/spmv/packed_values.cuh"

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

/// How a warp divides a slice: `Group` neighbouring threads share a lane (each for its own right-hand sides), a thread
/// has `Lanes` lanes, and `Flight` positions are in flight together. `Ahead`: values are prefetched to L2 two rounds
/// before they are loaded, which pays where rows are long and of similar length.
template <int Lanes, int Group, int Flight, bool Ahead, bool Peeled = false>
struct packed_division {
  static constexpr bool peeled = Peeled;
  static constexpr int lanes = Lanes;
  static constexpr int group = Group;
  static constexpr int flight = Flight;
  static constexpr bool ahead = Ahead;
  static constexpr int apart = 32 / Group;  // distance of a thread's lanes
  static constexpr int height = Lanes * apart;
};

/// Calls take(h, value, column) for every entry of the thread's lane h, in order, for each of its lanes.
template <class Division, class Offset, class Values, class Take>
__device__ __forceinline__ void walk_slice(const packed_pattern& a, const packed_slice& s,
                                           const packed_lane (&lane)[Division::lanes], const Values& values,
                                           Take take) {
  using raw = typename Values::raw;
  constexpr bool absolute = std::is_same_v<Offset, std::int32_t>;
  constexpr int lanes = Division::lanes, group = Division::group, flight = Division::flight, height = Division::height,
                apart = Division::apart;
  const int thread = lane_id();
  const int first_lane = thread / group;
  const index_t* const base = a.base + std::int64_t{s.bases} * packed_base_group;
  const auto* const offsets = reinterpret_cast<const Offset*>(a.offsets + s.offsets) + first_lane;
  const Values slice_values = values.from(s.values, first_lane);
  index_t origin[lanes];
#pragma unroll
  for (int h = 0; h < lanes; ++h) origin[h] = absolute ? 0 : origin_of(s.origin, lane[h], a.block);

  constexpr int lines = (flight * height * static_cast<int>(sizeof(raw)) + 127) / 128;  // of a round
  const auto* next = reinterpret_cast<const char*>(values.data + s.values) + 128 * (2 * lines + thread);
  const auto* const end = reinterpret_cast<const char*>(values.data + s.values + s.full * height);

  // A round of positions; all of them are full, or some.
  const auto round = [&](auto whole, int p) {
    constexpr bool all = decltype(whole)::value;
    if constexpr (Division::ahead && Values::streams) {
      if (thread < lines && next < end) prefetch_l2(next);
      next += 128 * lines;
    }
    raw value[flight][lanes];
    index_t column[flight][lanes];
#pragma unroll
    for (int i = 0; i < flight; ++i) {
      const bool live = all || p + i < s.full;  // the same for all lanes
#pragma unroll
      for (int h = 0; h < lanes; ++h) {
        const int at = (p + i) * height + apart * h;
        column[i][h] = live ? origin[h] + read_offset(offsets, at) : 0;
        value[i][h] = live ? slice_values.load(p + i, at) : raw{};
      }
    }
    if constexpr (!absolute) {
      index_t b[flight] = {};
      if constexpr (flight % packed_base_group == 0) {
#pragma unroll
        for (int i = 0; i < flight; i += packed_base_group) {
          if (!all && p + i >= s.full) break;
          const int4 four = __ldg(reinterpret_cast<const int4*>(base + p + i));
          b[i] = four.x, b[i + 1] = four.y, b[i + 2] = four.z, b[i + 3] = four.w;
        }
      } else {
#pragma unroll
        for (int i = 0; i < flight; ++i) b[i] = all || p + i < s.full ? __ldg(base + p + i) : 0;
      }
#pragma unroll
      for (int i = 0; i < flight; ++i) {
#pragma unroll
        for (int h = 0; h < lanes; ++h) column[i][h] += b[i];
      }
    }
#pragma unroll
    for (int i = 0; i < flight; ++i) {
#pragma unroll
      for (int h = 0; h < lanes; ++h) {
        if (all || p + i < s.full) take(h, values.of(value[i][h]), column[i][h]);
      }
    }
  };
  int p = 0;
  if constexpr (Division::peeled) {
    for (; p + flight <= s.full; p += flight) round(std::true_type{}, p);
  }
  for (; p < s.full; p += flight) round(std::false_type{}, p);

  // The ragged end: the entries of the lanes that have one, position after position.
  const unsigned below = (1u << (first_lane * group)) - 1;
  int before = s.full * height - first_lane;
  constexpr int few = lanes >= packed_base_group ? 1 : packed_base_group / lanes;
  for (p = s.full; p < s.width; p += few) {
    raw value[few][lanes];
    index_t column[few][lanes];
#pragma unroll
    for (int i = 0; i < few; ++i) {
#pragma unroll
      for (int h = 0; h < lanes; ++h) {
        const bool live = p + i < lane[h].count;
        const unsigned active = __ballot_sync(full_warp, live);
        const int at = before + __popc(active & below) / group;
        before += __popc(active) / group;
        column[i][h] = live ? origin[h] + read_offset(offsets, at) : 0;
        value[i][h] = live ? slice_values.load(p + i, at) : raw{};
      }
    }
#pragma unroll
    for (int i = 0; i < few; ++i) {
#pragma unroll
      for (int h = 0; h < lanes; ++h) {
        if (p + i >= lane[h].count) continue;
        if constexpr (!absolute) column[i][h] += __ldg(base + p + i);
        take(h, values.of(value[i][h]), column[i][h]);
      }
    }
  }
}

/// The same, by the width of the slice's offsets.
template <class Division, class Values, class Take>
__device__ __forceinline__ void walk_slice(const packed_pattern& a, const packed_slice& s,
                                           const packed_lane (&lane)[Division::lanes], const Values& values,
                                           Take take) {
  switch (s.offset_bytes) {
    case 0:
      return walk_slice<Division, no_offset>(a, s, lane, values, take);
    case 1:
      return walk_slice<Division, std::uint8_t>(a, s, lane, values, take);
    case 2:
      return walk_slice<Division, std::uint16_t>(a, s, lane, values, take);
    default:
      return walk_slice<Division, std::int32_t>(a, s, lane, values, take);
  }
}

/// The lanes of the calling thread.
template <class Division>
__device__ __forceinline__ void lanes_of(const packed_pattern& a, const packed_slice& s,
                                         packed_lane (&lane)[Division::lanes]) {
#pragma unroll
  for (int h = 0; h < Division::lanes; ++h) lane[h] = lane_of(a, s, Division::apart * h + lane_id() / Division::group);
}

/// sum[h] of the first lane of a row becomes the sum over the lanes of the row.
template <class Division, int Count, class T>
__device__ __forceinline__ void sum_rows(const packed_slice& s, T (&sum)[Division::lanes][Count]) {
  const int lanes_per_row = 1 << s.lanes_log2;
#pragma unroll
  for (int step = Division::lanes / 2; step > 0; step /= 2) {
    if (step * Division::apart >= lanes_per_row) continue;
#pragma unroll
    for (int h = 0; h < Division::lanes; ++h) {
      if ((h & step) != 0) continue;
#pragma unroll
      for (int j = 0; j < Count; ++j) sum[h][j] = add(sum[h][j], sum[h | step][j]);
    }
  }
  for (int d = min(lanes_per_row, Division::apart) / 2; d > 0; d /= 2) {
#pragma unroll
    for (int h = 0; h < Division::lanes; ++h) {
#pragma unroll
      for (int j = 0; j < Count; ++j)
        sum[h][j] = add(sum[h][j], __shfl_xor_sync(full_warp, sum[h][j], d * Division::group));
    }
  }
}

/// A slice's descriptor, by two 16-byte loads.
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

/// Brings the descriptor of a slice that a warp will begin with soon to L2: of one a little more than all resident
/// warps ahead. One lane of each warp.
__device__ __forceinline__ void prefetch_slice_ahead(const packed_pattern& a, std::int64_t i) {
  constexpr std::int64_t distance = 6144;
  if (lane_id() == 0 && i + distance < a.slices) prefetch_l2(a.slice + i + distance);
}

}  // namespace tulle::cuda
