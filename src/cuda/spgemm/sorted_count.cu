// Entries of the rows with few products: columns sorted in registers, changes counted. Method: sorted_rows.cuh.
// Bytes per product: 4, through L1 and L2.
#include "cuda/runtime/launch.cuh"
#include "cuda/spgemm/sorted_rows.cuh"

namespace tulle::cuda {
namespace {

/// The rows of one block.
template <class Shape, class O>
__device__ __forceinline__ void count_rows(const product_pattern<O>& m, const row_list& list, index_t block,
                                           index_t* __restrict__ entries, std::uint32_t* shared) {
  constexpr int lanes = Shape::lanes, items = Shape::items;
  const int lane = static_cast<int>(threadIdx.x) % lanes, group = static_cast<int>(threadIdx.x) / lanes;
  const std::int64_t i = std::int64_t{block} * Shape::groups + group;
  if (i - group >= list.count()) return;
  const bool mine = i < list.count();
  const index_t row = mine ? list[static_cast<index_t>(i)] : 0;
  const O begin = mine ? m.a_rowptr[row] : 0, end = mine ? m.a_rowptr[row + 1] : 0;
  std::uint32_t* columns = shared + group * Shape::stride;
  index_t column[expand_depth];
  const int products = lay_out_products<lanes>(
      m, begin, end, lane, [](O, bool) {}, [](int, int) {}, [&](int u, O k) { column[u] = __ldg(m.b_colind + k); },
      [&](int u, int place) { columns[place] = static_cast<std::uint32_t>(column[u]); });
  __syncwarp();
  std::uint32_t key[items];
#pragma unroll
  for (int e = 0; e < items; ++e) key[e] = e * lanes + lane < products ? columns[e * lanes + lane] : ~0u;
  sort_keys<lanes, items>(key, lane);
  std::uint32_t previous = __shfl_up_sync(full_warp, key[items - 1], 1, lanes);
  if (lane == 0) previous = ~0u;
  int heads = 0;
#pragma unroll
  for (int e = 0; e < items; ++e) {
    heads += key[e] != previous && key[e] != ~0u;
    previous = key[e];
  }
  heads = warp_sum<lanes>(heads);
  if (mine && lane == 0) entries[row] = heads;
}

template <class Shape, class O>
__global__ void __launch_bounds__(sorted_block, Shape::items <= 8 ? 12 : 1)
    count_class_kernel(product_pattern<O> m, row_list list, index_t* __restrict__ entries) {
  __shared__ std::uint32_t shared[Shape::groups * Shape::stride];
  count_rows<Shape>(m, list, static_cast<index_t>(blockIdx.x), entries, shared);
}

template <class O>
__global__ void __launch_bounds__(sorted_block, 8)
    count_classes_kernel(product_pattern<O> m, sorted_lists lists, index_t* __restrict__ entries) {
  __shared__ std::uint32_t shared[largest_shape::groups * largest_shape::stride];
  with_own_class(lists, [&]<class Shape>(Shape, const row_list& list, index_t block) {
    count_rows<Shape>(m, list, block, entries, shared);
  });
}

}  // namespace

void count_sorted(const product_ref& p, const sorted_lists& lists, index_t* entries, cudaStream_t stream) {
  p.with_offsets([&]<class O>() {
    const auto run = [&](auto kernel, std::int64_t blocks, const auto& rows) {
      launch("spgemm: count_sorted", kernel, {blocks, sorted_block}, stream, p.pattern<O>(), rows, entries);
    };
    lay_out_classes(
        lists,
        [&](int c, const row_list& list) {
          fine_shapes::with(
              c, [&]<class Shape>(Shape) { run(count_class_kernel<Shape, O>, blocks_of<fine_shapes>(list, c), list); });
        },
        [&](const sorted_lists& others, unsigned blocks) { run(count_classes_kernel<O>, blocks, others); });
  });
}

}  // namespace tulle::cuda
