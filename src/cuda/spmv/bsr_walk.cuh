// Walking the blocks of a block row. A lane takes a fragment, `width` neighbouring values of one row of a block (16 bytes
// where the block allows, the whole row where its length is odd), and always the same one: neighbouring lanes read neighbouring values, and a lane needs one sum.
// A group of lanes takes `slots` blocks at a time, several rounds of them so that their loads overlap; the columns of the
// next blocks are read while the values of these arrive.
#pragma once

#include <numeric>
#include <tulle/core/types.hpp>

#include "cuda/device/arithmetic.cuh"
#include "cuda/device/load.cuh"
#include "cuda/device/warp.cuh"

namespace tulle::cuda {

/// The pattern on the device.
struct bsr_pattern {
  index_t rows;
  index_t cols;
  index_t block_rows;
  bool wide;  // 64-bit offsets
  const void* rowptr;
  const index_t* colind;
  const std::uint64_t* mask;  // or null

  __device__ __forceinline__ std::int64_t offset(std::int64_t block_row) const {
    return wide ? __ldg(static_cast<const long long*>(rowptr) + block_row)
                : static_cast<std::int64_t>(__ldg(static_cast<const int*>(rowptr) + block_row));
  }
};

/// How a group of `Group` lanes divides blocks of `Block` x `Block` values of T.
template <int Block, int Group, class T>
struct bsr_division {
  static constexpr int block = Block;
  static constexpr int group = Group;
  static constexpr int width =  // values of a fragment
      Block % 2 == 1 ? Block : std::gcd(Block, 16 / static_cast<int>(sizeof(T)));
  static constexpr int area = Block * Block;
  static constexpr int fragments = area / width;
  static constexpr int rounds = (fragments + 31) / 32;  // fragments of a lane, `lanes` apart
  static constexpr int lanes = (fragments + rounds - 1) / rounds;
  static constexpr int slots = Group / lanes;
  static_assert(slots >= 1);
};

/// Whether one load can bring so many bytes.
template <std::size_t Bytes>
constexpr bool is_word = Bytes == 8 || Bytes == 16;

/// A fragment, `Vector`: by one load, which needs its alignment. `Shared`: a sector of memory holds values of two blocks,
/// so that L1 had better keep it for the other.
template <bool Vector, bool Shared, class T, int Width>
__device__ __forceinline__ void load_fragment(const T* from, T (&to)[Width]) {
  if constexpr (Vector && is_word<Width * sizeof(T)> && !Shared) {
    load_stream(from, to);
  } else if constexpr (Vector && is_word<Width * sizeof(T)>) {
    using word = std::conditional_t<Width * sizeof(T) == 16, int4, int2>;
    const word raw = __ldg(reinterpret_cast<const word*>(from));
    memcpy(&to, &raw, sizeof(raw));
  } else {
#pragma unroll
    for (int i = 0; i < Width; ++i) to[i] = __ldg(from + i);
  }
}

/// The elements of x beside a fragment, for one right-hand side.
template <bool Vector, class V>
struct bsr_vector {
  static constexpr int count = 1;
  const V* __restrict__ x;

  template <int Width>
  __device__ __forceinline__ void fetch(index_t first, index_t last, V (&to)[Width][1]) const {
    if constexpr (Vector && is_word<Width * sizeof(V)>) {
      using word = std::conditional_t<Width * sizeof(V) == 16, int4, int2>;
      static_assert(sizeof(word) == sizeof(to));
      const word raw = __ldg(reinterpret_cast<const word*>(x + first));
      memcpy(&to, &raw, sizeof(raw));
    } else {
#pragma unroll
      for (int i = 0; i < Width; ++i) to[i][0] = __ldg(x + min(first + i, last));
    }
  }
};

/// Adds the products of the lane's fragments of blocks first, first + slots, ... below end to `sum`. Nothing is read on
/// a condition, so that all reads of a round are under way together: what is not there is read from the last block
/// instead, and left out.
template <class Division, int Unroll, bool Masked, bool Vector, class T, class V, class Vectors, int Count>
__device__ __forceinline__ void walk_blocks(const bsr_pattern& a, const T* __restrict__ values, const Vectors& vectors,
                                            std::int64_t first, std::int64_t end, int part,
                                            V (&sum)[Division::rounds][Count]) {
  constexpr int width = Division::width, rounds = Division::rounds, slots = Division::slots, block = Division::block;
  if (first >= end) return;
  int place[rounds];  // of the fragment in a block
#pragma unroll
  for (int r = 0; r < rounds; ++r) place[r] = min(part + r * Division::lanes, Division::fragments - 1) * width;
  const bool has_last = rounds == 1 || part + (rounds - 1) * Division::lanes < Division::fragments;

  // Counted from `first`, so that 32 bits hold it.
  const int left = static_cast<int>(end - first);
  const index_t* const colind = a.colind + first;
  const std::uint64_t* const masks = a.mask + first;
  const T* const from = values + first * Division::area;
  index_t column[Unroll];
#pragma unroll
  for (int u = 0; u < Unroll; ++u) column[u] = __ldg(colind + min(u * slots, left - 1));
  for (int k = 0; k < left; k += Unroll * slots) {
    T value[Unroll][rounds][width];
    V x[Unroll][rounds][width][Count];
    std::uint64_t mask[Unroll];
#pragma unroll
    for (int u = 0; u < Unroll; ++u) {
      const int at = min(k + u * slots, left - 1);
      mask[u] = Masked ? __ldg(reinterpret_cast<const unsigned long long*>(masks) + at) : 0;
#pragma unroll
      for (int r = 0; r < rounds; ++r) {
        load_fragment<Vector, Division::area * sizeof(T) % 32 != 0>(from + std::int64_t{at} * Division::area + place[r], value[u][r]);
      }
    }
#pragma unroll
    for (int u = 0; u < Unroll; ++u) {
#pragma unroll
      for (int r = 0; r < rounds; ++r) vectors.fetch(column[u] * block + place[r] % block, a.cols - 1, x[u][r]);
    }
#pragma unroll
    for (int u = 0; u < Unroll; ++u) column[u] = __ldg(colind + min(k + (Unroll + u) * slots, left - 1));
#pragma unroll
    for (int u = 0; u < Unroll; ++u) {
      const bool live = u == 0 || k + u * slots < left;
#pragma unroll
      for (int r = 0; r < rounds; ++r) {
        const auto bits = Masked ? static_cast<unsigned>(mask[u] >> place[r]) : ~0u;
#pragma unroll
        for (int i = 0; i < width; ++i) {
          const bool in_pattern = live && (r + 1 < rounds || has_last) && (bits >> i & 1) != 0;
#pragma unroll
          for (int j = 0; j < Count; ++j) {
            const V more = multiply_add(static_cast<V>(value[u][r][i]), x[u][r][i][j], sum[r][j]);
            sum[r][j] = in_pattern ? more : sum[r][j];
          }
        }
      }
    }
  }
}

/// From the sums of fragments those of the block's rows: row i's in lane i of the group, the others' undefined.
template <class Division, class V, int Count>
__device__ __forceinline__ void sum_fragments(V (&sum)[Division::rounds][Count], V (&row)[Count]) {
  constexpr int lanes = Division::lanes, slots = Division::slots, across = Division::block / Division::width;
  const int group = lane_id() / Division::group * Division::group;
  const int lane = lane_id() - group;
  const int of_row = lane < Division::block ? lane * across : 0;
#pragma unroll
  for (int j = 0; j < Count; ++j) {
#pragma unroll
    for (int r = 0; r < Division::rounds; ++r) {
      if constexpr ((lanes & (lanes - 1)) == 0) {
#pragma unroll
        for (int d = Division::group / 2; d >= lanes; d /= 2) sum[r][j] += __shfl_xor_sync(full_warp, sum[r][j], d);
      } else {
        const V own = sum[r][j];
#pragma unroll
        for (int s = 1; s < slots; ++s) sum[r][j] += __shfl_sync(full_warp, own, (group + lane + s * lanes) % 32);
      }
    }
    row[j] = across == 1 ? sum[0][j] : V{0};
    if constexpr (across > 1) {
#pragma unroll
      for (int q = 0; q < across; ++q) {
        const int fragment = of_row + q;
#pragma unroll
        for (int r = 0; r < Division::rounds; ++r) {
          const V other = __shfl_sync(full_warp, sum[r][j], (group + fragment % lanes) % 32);
          if (fragment / lanes == r) row[j] += other;
        }
      }
    }
  }
}

}  // namespace tulle::cuda
