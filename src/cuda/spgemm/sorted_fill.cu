// Rows with few products: sorted in registers by (column, order of the product), neighbours with the same column added
// up one by one in that order. Method: sorted_rows.cuh. Bytes per product: 4 + sizeof(T), through L1 and L2; C is
// written once, coalesced over the rows of a warp.
#include "cuda/device/arithmetic.cuh"
#include "cuda/runtime/launch.cuh"
#include "cuda/spgemm/sorted_rows.cuh"

namespace tulle::cuda {
namespace {

/// Runs of equal columns among the sorted keys of a group: bit e of a lane's words is about its key e.
template <class Shape, class Key>
struct key_runs {
  unsigned begins = 0;
  unsigned ends = 0;

  __device__ key_runs(const Key (&key)[Shape::items], int lane) {
    constexpr int items = Shape::items, lanes = Shape::lanes, shift = Shape::shift;
    constexpr Key none = ~Key{0};
    Key before = __shfl_up_sync(full_warp, key[items - 1], 1, lanes);
    Key after = __shfl_down_sync(full_warp, key[0], 1, lanes);
    if (lane == 0) before = none;
    if (lane == lanes - 1) after = none;
#pragma unroll
    for (int e = 0; e < items; ++e) {
      const Key left = e == 0 ? before : key[e - 1], right = e == items - 1 ? after : key[e + 1];
      const bool real = key[e] != none;
      begins |= unsigned{real && (left == none || key[e] >> shift != left >> shift)} << e;
      ends |= unsigned{real && (right == none || key[e] >> shift != right >> shift)} << e;
    }
  }
};

/// Each value becomes the sum of its run up to it, added one by one. Lanes whose first keys carry on a run wait for the
/// lane before; all lanes of the warp call this. `real`: keys of this lane that are not padding.
template <class Shape, class T>
__device__ __forceinline__ void sum_runs(T (&value)[Shape::items], unsigned begins, int real) {
  constexpr int items = Shape::items;
  const int carried = begins == 0 ? real : __ffs(static_cast<int>(begins)) - 1;
  T sum = 0;
#pragma unroll
  for (int e = 0; e < items; ++e) {
    if (e >= carried && e < real) value[e] = sum = ((begins >> e & 1) != 0 ? T{0} : sum) + value[e];
  }
  bool settled = carried == 0;
  while (__any_sync(full_warp, !settled)) {
    const T before = __shfl_up_sync(full_warp, sum, 1, Shape::lanes);
    const bool ready = __shfl_up_sync(full_warp, settled, 1, Shape::lanes);
    if (settled || !ready) continue;
    T carry = before;
#pragma unroll
    for (int e = 0; e < items; ++e) {
      if (e < carried) value[e] = carry = carry + value[e];
    }
    if (begins == 0) sum = carry;
    settled = true;
  }
}

/// In shared memory: the products of each group, then its entries.
template <class Shape, class T, class Key>
struct sorted_space {
  Key keys[Shape::groups * Shape::stride];
  T values[Shape::groups * Shape::stride];
};

/// The rows of one block.
template <class Shape, class Key, class T, class O>
__device__ __forceinline__ void fill_rows(const product_pattern<O>& m, const product_values<T, O>& v,
                                          const row_list& list, index_t block, bool write_columns, Key* shared_keys,
                                          T* shared_values) {
  constexpr int lanes = Shape::lanes, items = Shape::items, shift = Shape::shift;
  constexpr Key none = ~Key{0};
  const int lane = static_cast<int>(threadIdx.x) % lanes, group = static_cast<int>(threadIdx.x) / lanes;
  const std::int64_t i = std::int64_t{block} * Shape::groups + group;
  const bool mine = i < list.count();
  const index_t row = mine ? list[static_cast<index_t>(i)] : 0;
  const O begin = mine ? m.a_rowptr[row] : 0, end = mine ? m.a_rowptr[row + 1] : 0;
  const O to = mine ? v.c_rowptr[row] : 0;
  Key* const keys = shared_keys + group * Shape::stride;
  T* const values = shared_values + group * Shape::stride;
  index_t column[expand_depth];
  T factor = 0, a[expand_depth], b[expand_depth];
  const int products = lay_out_products<lanes>(
      m, begin, end, lane, [&](O k, bool there) { factor = there ? __ldg(v.a + k) : T{0}; },
      [&](int u, int holder) { a[u] = __shfl_sync(full_warp, factor, holder, lanes); },
      [&](int u, O k) {
        column[u] = __ldg(m.b_colind + k);
        b[u] = __ldg(v.b + k);
      },
      [&](int u, int place) {
        keys[place] = static_cast<Key>(column[u]) << shift | static_cast<Key>(place);
        values[place] = rounded_product(a[u], b[u]);
      });
  __syncwarp();
  Key key[items];
#pragma unroll
  for (int e = 0; e < items; ++e) key[e] = e * lanes + lane < products ? keys[e * lanes + lane] : none;
  sort_keys<lanes, items>(key, lane);
  T value[items];
#pragma unroll
  for (int e = 0; e < items; ++e) value[e] = key[e] == none ? T{0} : values[key[e] & (Shape::most - 1)];
  const key_runs<Shape, Key> runs(key, lane);
  sum_runs<Shape>(value, runs.begins, min(max(products - lane * items, 0), items));
  int entries;
  int at = sum_before<lanes>(__popc(runs.ends), entries);
  __syncwarp();  // the products have been read: their place serves for the entries
#pragma unroll
  for (int e = 0; e < items; ++e) {
    if ((runs.ends >> e & 1) != 0) {
      keys[at] = key[e] >> shift;
      values[at++] = value[e];
    }
  }
  __syncwarp();
  if (!mine) return;
  for (int q = lane; q < entries; q += lanes) {
    if (write_columns) v.c_colind[to + q] = static_cast<index_t>(keys[q]);
    v.c[to + q] = v.alpha * values[q];
  }
}

template <class Shape, class Key, class T, class O>
__global__ void __launch_bounds__(sorted_block, Shape::items <= 4   ? 10
                                                : Shape::items <= 8 ? 8
                                                                    : 1)
    fill_class_kernel(product_pattern<O> m, product_values<T, O> v, row_list list, bool write_columns) {
  __shared__ sorted_space<Shape, T, Key> space;
  fill_rows<Shape>(m, v, list, static_cast<index_t>(blockIdx.x), write_columns, space.keys, space.values);
}

template <class Key, class T, class O>
__global__ void __launch_bounds__(sorted_block, 4)
    fill_classes_kernel(product_pattern<O> m, product_values<T, O> v, sorted_lists lists, bool write_columns) {
  __shared__ sorted_space<largest_shape, T, Key> space;
  with_own_class(lists, [&]<class Shape>(Shape, const row_list& list, index_t block) {
    fill_rows<Shape>(m, v, list, block, write_columns, space.keys, space.values);
  });
}

/// Kernels take long to compile. What is seldom asked for (64-bit offsets, which plans narrow where they can; columns
/// that do not fit a key of 32 bits; integers) has shapes for two classes each and keys of 64 bits.
template <class T, class O>
constexpr bool has_fine_shapes = std::is_floating_point_v<T> && sizeof(O) == 4;

/// Whether a column and the number of a product fit 32 bits.
template <class Shape>
bool fits_narrow_key(index_t cols) {
  return std::int64_t{cols} * Shape::most < std::int64_t{1} << 32;
}

}  // namespace

void fill_sorted(const product_fill& to, const sorted_lists& lists) {
  to.run([&]<class T, class O>(const product_pattern<O>& m, const product_values<T, O>& v) {
    const auto run = [&](auto kernel, std::int64_t blocks, const auto& rows) {
      launch("spgemm: fill_sorted", kernel, {blocks, sorted_block}, to.stream, m, v, rows, to.columns);
    };
    const auto run_coarse = [&](int c, const row_list& list) {
      coarse_shapes::with(c, [&]<class Shape>(Shape) {
        run(fill_class_kernel<Shape, std::uint64_t, T, O>, blocks_of<coarse_shapes>(list, c), list);
      });
    };
    const auto run_all_coarse = [&](const sorted_lists& all) {
      for (int c = 0; c < sorted_count; ++c) run_coarse(c, all.of[c]);
    };
    if constexpr (has_fine_shapes<T, O>) {
      lay_out_classes(
          lists,
          [&](int c, const row_list& list) {
            fine_shapes::with(c, [&]<class Shape>(Shape) {
              if (!fits_narrow_key<Shape>(m.cols)) return run_coarse(c, list);
              run(fill_class_kernel<Shape, std::uint32_t, T, O>, blocks_of<fine_shapes>(list, c), list);
            });
          },
          [&](const sorted_lists& others, unsigned blocks) {
            if (!fits_narrow_key<largest_shape>(m.cols)) return run_all_coarse(others);
            run(fill_classes_kernel<std::uint32_t, T, O>, blocks, others);
          });
    } else {
      run_all_coarse(lists);
    }
  });
}

}  // namespace tulle::cuda
