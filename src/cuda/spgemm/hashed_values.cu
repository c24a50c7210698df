// Values of the rows whose entries lie in few words of 32 columns. The sorted columns of C make the table: word -> mask of
// its columns and place of the first, so that a column's place is one probe and a count of the bits below (bitmap-rank
// accumulator), and the sums lie in shared memory in the order of C. One warp a row, which it walks as value_walk.cuh says.
// One thread: a product at a time. Bytes a product: 4 + sizeof(T), through L1 and L2.
#include "cuda/runtime/check.hpp"
#include "cuda/spgemm/hashed_rows.hpp"
#include "cuda/spgemm/value_walk.cuh"
#include "cuda/spgemm/word_table.cuh"

namespace tulle::cuda {
namespace {

constexpr int block = 128, warps = block / 32;

template <class T, int Slots, int Most>
struct value_space {
  static constexpr bool masked = false;

  T sum[Most];
  uint2 entry[Slots];  // mask, place of the first column
  unsigned key[Slots];

  __device__ __forceinline__ int place(index_t column) const {
    const uint2 word = entry[word_table<Slots>{const_cast<unsigned*>(key)}.find(static_cast<unsigned>(column) / 32)];
    return static_cast<int>(word.y) + __popc(word.x & ((1u << column % 32) - 1));
  }
  __device__ __forceinline__ void add(int at, T product) { sum[at] += product; }

  __device__ void index(const index_t* columns, int count) {
    const word_table<Slots> table{key};
    table.clear();
    for (int i = lane_id(); i < Slots; i += 32) entry[i] = {0, 0};
    for (int i = lane_id(); i < count; i += 32) sum[i] = 0;
    __syncwarp();
    for (int i = lane_id(); i < count; i += 32) {
      const index_t word = columns[i] / 32;
      if (i > 0 && columns[i - 1] / 32 == word) continue;
      int added = 0;
      entry[table.insert(static_cast<unsigned>(word), added)].y = static_cast<unsigned>(i);
    }
    __syncwarp();
    for (int i = lane_id(); i < count; i += 32) {
      const auto column = static_cast<unsigned>(columns[i]);
      atomicOr(&entry[table.find(column / 32)].x, 1u << column % 32);
    }
    __syncwarp();
  }
};

template <int Lanes, int Slots, int Most, class T, class O>
__global__ void __launch_bounds__(block)
    values_kernel(product_pattern<O> m, product_values<T, O> v, row_list list) {
  __shared__ value_space<T, Slots, Most> spaces[warps];
  const std::int64_t i = std::int64_t{blockIdx.x} * warps + threadIdx.x / 32;
  if (i >= list.count()) return;
  const index_t row = list[static_cast<index_t>(i)];
  value_space<T, Slots, Most>& space = spaces[threadIdx.x / 32];
  const O to = v.c_rowptr[row];
  const int count = static_cast<int>(v.c_rowptr[row + 1] - to);
  space.index(v.c_colind + to, count);
  walk_values<Lanes, false>(m, v.a, v.b, m.a_rowptr[row], m.a_rowptr[row + 1], column_range<false>{}, space);
  __syncwarp();
  for (int q = lane_id(); q < count; q += 32) v.c[to + q] = v.alpha * space.sum[q];
}

}  // namespace

template <class T, class O>
void fill_hashed_values(const product_pattern<O>& m, const product_values<T, O>& v, bool short_rows, row_class c,
                        const row_list& list, cudaStream_t stream) {
  if (list.most == 0) return;
  const auto blocks = static_cast<unsigned>((std::int64_t{list.most} + warps - 1) / warps);
  const auto run = [&](auto kernel) { kernel<<<blocks, block, 0, stream>>>(m, v, list); };
  if (c == hashed_256) {
    short_rows ? run(values_kernel<8, 128, 256, T, O>) : run(values_kernel<32, 128, 256, T, O>);
  } else {
    short_rows ? run(values_kernel<8, 256, 512, T, O>) : run(values_kernel<32, 256, 512, T, O>);
  }
  check_launch("spgemm: fill_hashed_values");
}

template void fill_hashed_values(const product_pattern<std::int32_t>&, const product_values<float, std::int32_t>&, bool, row_class, const row_list&, cudaStream_t);
template void fill_hashed_values(const product_pattern<std::int64_t>&, const product_values<float, std::int64_t>&, bool, row_class, const row_list&, cudaStream_t);
template void fill_hashed_values(const product_pattern<std::int32_t>&, const product_values<double, std::int32_t>&, bool, row_class, const row_list&, cudaStream_t);
template void fill_hashed_values(const product_pattern<std::int64_t>&, const product_values<double, std::int64_t>&, bool, row_class, const row_list&, cudaStream_t);

}  // namespace tulle::cuda
