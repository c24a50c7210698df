// Rows with few products: all of them are laid out in shared memory, their columns sorted in registers by a bitonic
// network (Batcher, AFIPS 1968) of `Lanes` lanes with `Items` keys each, and neighbours with the same column added up.
// One thread: a share of rows of B (coalesced in the group, or in a quarter of a warp), then `Items` keys.
#pragma once

#include <algorithm>
#include <bit>

#include "cuda/spgemm/row_kernels.hpp"

namespace tulle::cuda {

constexpr int sorted_block = 128;

/// The shape of a class: a group of Lanes lanes per row.
template <int Lanes, int Items>
struct sorted_shape {
  static constexpr int lanes = Lanes;
  static constexpr int items = Items;
  static constexpr int most = Lanes * Items;
  static constexpr int shift = std::bit_width(static_cast<unsigned>(most)) - 1;
  static constexpr int groups = sorted_block / Lanes;  // rows of a block at a time
  static constexpr int stride = most + Lanes;          // so that the groups of a warp meet in no bank
};

constexpr int sorted_count = static_cast<int>(std::extent_v<decltype(sorted_lists::of)>);

using largest_shape = sorted_shape<32, 16>;

/// A shape for each of the sorted classes: with(c, f) calls f with that of the c-th.
struct fine_shapes {
  /// Lanes of a row.
  __host__ __device__ static constexpr int lanes(int c) {
    constexpr int of[] = {4, 4, 8, 8, 16, 32, 32};
    return of[c];
  }
  template <class F>
  static void with(int c, F&& f) {
    switch (c) {
      case 0:
        return f(sorted_shape<4, 2>{});
      case 1:
        return f(sorted_shape<4, 4>{});
      case 2:
        return f(sorted_shape<8, 4>{});
      case 3:
        return f(sorted_shape<8, 8>{});
      case 4:
        return f(sorted_shape<16, 8>{});
      case 5:
        return f(sorted_shape<32, 8>{});
      default:
        return f(largest_shape{});
    }
  }
};

/// One for two classes each: half the code, for kernels that have many shapes in one or are seldom asked for.
struct coarse_shapes {
  __host__ __device__ static constexpr int lanes(int c) { return c < 2 ? 4 : c < 4 ? 8 : 32; }
#pragma nv_exec_check_disable
  template <class F>
  __host__ __device__ __forceinline__ static void with(int c, F&& f) {
    if (c < 2) return f(sorted_shape<4, 4>{});
    if (c < 4) return f(sorted_shape<8, 8>{});
    if (c < 6) return f(sorted_shape<32, 8>{});
    return f(largest_shape{});
  }
};

/// Rows of a block at a time, by sorted class.
template <class Shapes>
__host__ __device__ constexpr int groups_of(int c) {
  return sorted_block / Shapes::lanes(c);
}

/// Calls run(shape, list, block among those of the list) for the class to which a block of a grid over several classes
/// belongs; nothing where there are more blocks than rows to make.
template <class Run>
__device__ __forceinline__ void with_own_class(const sorted_lists& lists, Run run) {
  index_t block = static_cast<index_t>(blockIdx.x);
  for (int c = 0; c < sorted_count; ++c) {
    constexpr auto groups = groups_of<coarse_shapes>;
    const index_t blocks = (lists.of[c].count() + groups(c) - 1) / groups(c);
    if (block < blocks) return coarse_shapes::with(c, [&](auto shape) { run(shape, lists.of[c], block); });
    block -= blocks;
  }
}

/// So many blocks of a class are worth a launch of their own; more where the rows are not counted yet.
constexpr std::int64_t own_launch = 1024, own_launch_uncounted = 1100;

template <class Shapes>
std::int64_t blocks_of(const row_list& list, int c) {
  return (std::int64_t{list.most} + groups_of<Shapes>(c) - 1) / groups_of<Shapes>(c);
}

/// Calls alone(c, list) for each class with many rows and shared(lists, blocks) for the others together.
template <class Alone, class Shared>
void lay_out_classes(sorted_lists lists, Alone alone, Shared shared) {
  const bool single = std::ranges::count_if(lists.of, [](const row_list& l) { return l.most > 0; }) == 1;
  std::int64_t blocks = 0;
  for (int c = 0; c < sorted_count; ++c) {
    row_list& list = lists.of[c];
    const std::int64_t own = blocks_of<fine_shapes>(list, c);
    if (own > 0 && (single || own >= (list.counted == nullptr ? own_launch : own_launch_uncounted))) {
      alone(c, list);
      list = {};
    }
    blocks += blocks_of<coarse_shapes>(list, c);
  }
  if (blocks > 0) shared(lists, static_cast<unsigned>(blocks));
}

/// Puts two keys in order.
template <class Key>
__device__ __forceinline__ void exchange(Key& x, Key& y) {
  const Key low = min(x, y), high = max(x, y);
  x = low;
  y = high;
}

/// Sorts Lanes * Items keys ascending; lane l ends up with those from l * Items on.
template <int Lanes, int Items, class Key>
__device__ __forceinline__ void sort_keys(Key (&key)[Items], int lane) {
#pragma unroll
  for (int size = 2; size <= Lanes * Items; size *= 2) {
    // The first step of a merge mirrors, so that all comparisons point the same way.
    if (size <= Items) {
#pragma unroll
      for (int i = 0; i < Items; ++i) {
        if (const int j = i ^ (size - 1); j > i) exchange(key[i], key[j]);
      }
    } else {
      Key other[Items];
#pragma unroll
      for (int i = 0; i < Items; ++i) other[i] = __shfl_xor_sync(full_warp, key[Items - 1 - i], size / Items - 1);
      const bool lower = (lane & (size / Items / 2)) == 0;
#pragma unroll
      for (int i = 0; i < Items; ++i) key[i] = lower == (key[i] < other[i]) ? key[i] : other[i];
    }
#pragma unroll
    for (int stride = size / 4; stride > 0; stride /= 2) {
      const bool lower = (lane & (stride / Items)) == 0;
#pragma unroll
      for (int i = 0; i < Items; ++i) {
        if (stride >= Items) {
          const Key other = __shfl_xor_sync(full_warp, key[i], stride / Items);
          key[i] = lower == (key[i] < other) ? key[i] : other;
        } else if (const int j = i ^ stride; j > i) {
          exchange(key[i], key[j]);
        }
      }
    }
  }
}

/// Rows of B that a lane has in flight.
constexpr int expand_depth = 4;

/// Lanes of a group that share a row of B: of a whole warp most would idle in a row of 10. H100, values of C, by 32 and
/// by 8: 15 entries a row 635 and 526 us, 20 1720 and 1420; 10 a row, by 16 and by 8 of 16: 374 and 404.
__host__ __device__ constexpr int sharing_lanes(int lanes) { return lanes == 32 ? 8 : lanes; }

/// Lays out the products of a row: begin(u, lane that holds the entry of A) names the u-th of the rows of B that the
/// lane reads next, load(u, position in B) reads an entry of it, and store(u, place) leaves it at its place, product by
/// product. A's entries come in batches, before each of which batch(position in A of the lane's entry, whether there is
/// one) runs. Returns the number of products. All lanes of the warp call it; a group without a row passes an empty
/// range.
template <int Lanes, class O, class Batch, class Begin, class Load, class Store>
__device__ __forceinline__ int lay_out_products(const product_pattern<O>& m, O first, O end, int lane, Batch batch,
                                                Begin begin, Load load, Store store) {
  constexpr int sharing = sharing_lanes(Lanes), side_by_side = Lanes / sharing, depth = expand_depth;
  static_assert(Lanes % (depth * side_by_side) == 0);
  int placed = 0;
  for (O base = first; __any_sync(full_warp, base < end); base += Lanes) {
    const O mine = base + lane;
    O start = 0;
    int length = 0;
    if (mine < end) {
      const index_t inner = __ldg(m.a_colind + mine);
      start = __ldg(m.b_rowptr + inner);
      length = static_cast<int>(__ldg(m.b_rowptr + inner + 1) - start);
    }
    batch(mine, mine < end);
    const int after = warp_inclusive_sum<Lanes>(length);
#pragma unroll
    for (int j = 0; j < Lanes; j += depth * side_by_side) {
      if (!__any_sync(full_warp, base + j < end)) break;
      O from[depth];
      int count[depth], place[depth], longest = 0;
#pragma unroll
      for (int u = 0; u < depth; ++u) {
        const int holder = j + u * side_by_side + (side_by_side == 1 ? 0 : lane / sharing);
        from[u] = __shfl_sync(full_warp, start, holder, Lanes);
        count[u] = __shfl_sync(full_warp, length, holder, Lanes);
        place[u] = placed + __shfl_sync(full_warp, after, holder, Lanes) - count[u];
        longest = max(longest, count[u]);
        begin(u, holder);
      }
      const auto take = [&](int q) {
#pragma unroll
        for (int u = 0; u < depth; ++u) {
          if (q < count[u]) load(u, from[u] + q);
        }
#pragma unroll
        for (int u = 0; u < depth; ++u) {
          if (q < count[u]) store(u, place[u] + q);
        }
      };
      if constexpr (Lanes <= 8) {  // most rows end with the first turn; H100, 1 to 4 a row: 3% less than by turns
        take(lane);
#pragma unroll
        for (int u = 0; u < depth; ++u) {
          for (int q = lane + Lanes; q < count[u]; q += Lanes) {
            load(u, from[u] + q);
            store(u, place[u] + q);
          }
        }
      } else {
        for (int q = lane % sharing; q < longest; q += sharing) take(q);
      }
    }
    placed += __shfl_sync(full_warp, after, Lanes - 1, Lanes);
  }
  return placed;
}

/// Exclusive sum over the lanes of a group, and the sum of all.
template <int Lanes>
__device__ __forceinline__ int sum_before(int mine, int& all) {
  const int sum = warp_inclusive_sum<Lanes>(mine);
  all = __shfl_sync(full_warp, sum, Lanes - 1, Lanes);
  return sum - mine;
}

}  // namespace tulle::cuda
