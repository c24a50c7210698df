// Classes of rows by products, and lists of the rows of each class. Two small passes: one reads A and two offsets of B
// an entry, the other a byte a row. One thread: an entry of A at a time, 2 to 32 lanes a row; then a row.
#include <algorithm>

#include "cuda/runtime/check.hpp"
#include "cuda/spgemm/row_classes.hpp"

namespace tulle::cuda {
namespace {

constexpr int block = 256;
/// A row of A with more entries than this, of which most name empty rows of B, is too long for a sorted class.
constexpr std::int64_t longest_sorted = 1024;

__device__ row_class class_of(std::int64_t products, std::int64_t entries) {
  if (products == 0) return empty_row;
  if (entries > longest_sorted) return trial;
  if (products <= 64)
    return products <= 16 ? (products <= 8 ? sorted_8 : sorted_16) : products <= 32 ? sorted_32 : sorted_64;
  if (products <= 256) return products <= 128 ? sorted_128 : sorted_256;
  return products <= 512 ? trial_512 : trial;
}

/// Counts of a block in shared memory, added to the device's at the end.
struct block_counts {
  index_t* shared;
  __device__ void clear() const {
    if (threadIdx.x < row_classes) shared[threadIdx.x] = 0;
    __syncthreads();
  }
  __device__ void add_to(index_t* counts) const {
    __syncthreads();
    if (threadIdx.x < row_classes && shared[threadIdx.x] != 0) atomicAdd(counts + threadIdx.x, shared[threadIdx.x]);
  }
};

template <class O>
__device__ std::int64_t products_of(const product_pattern<O>& m, std::int64_t begin, O end, int step) {
  std::int64_t products = 0;
#pragma unroll 4
  for (std::int64_t k = begin; k < end; k += step) {
    const index_t inner = __ldg(m.a_colind + k);
    products += __ldg(m.b_rowptr + inner + 1) - __ldg(m.b_rowptr + inner);
  }
  return products;
}

/// What a block has found, and where it leaves it.
struct row_finder {
  block_counts found;
  std::uint8_t* classes;
  index_t* entries;
  unsigned long long products = 0;

  __device__ void classify(index_t row, std::int64_t row_products, std::int64_t row_entries) {
    const row_class c = class_of(row_products, row_entries);
    classes[row] = c;
    if (c == empty_row) entries[row] = 0;
    atomicAdd(found.shared + c, 1);
    products += static_cast<unsigned long long>(row_products);
  }
};

template <int Lanes, class O>
__global__ void __launch_bounds__(block) classify_kernel(product_pattern<O> m, std::uint8_t* classes, index_t* counts,
                                                         unsigned long long* all_products, index_t* entries) {
  constexpr int groups = block / Lanes;
  constexpr int longest = Lanes < 32 ? 64 : 2048;  // a row of A with more entries is left to the whole block
  __shared__ index_t shared[row_classes];
  __shared__ index_t late[groups];
  __shared__ int late_count;
  __shared__ unsigned long long late_products;
  row_finder rows{{shared}, classes, entries};
  rows.found.clear();
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
  for (std::int64_t first = std::int64_t{blockIdx.x} * groups; first < m.rows;
       first += std::int64_t{gridDim.x} * groups) {
    if (threadIdx.x == 0) late_count = 0;
    __syncthreads();
    const std::int64_t row = first + threadIdx.x / Lanes;
    const O begin = row < m.rows ? m.a_rowptr[row] : 0, end = row < m.rows ? m.a_rowptr[row + 1] : 0;
    const bool is_long = end - begin > longest;
    std::int64_t products = is_long ? 0 : products_of(m, std::int64_t{begin} + lane, end, Lanes);
#pragma unroll
    for (int d = Lanes / 2; d > 0; d /= 2) products += __shfl_xor_sync(full_warp, products, d);
    if (row < m.rows && lane == 0) {
      if (is_long) {
        late[atomicAdd(&late_count, 1)] = static_cast<index_t>(row);
      } else {
        rows.classify(static_cast<index_t>(row), products, end - begin);
      }
    }
    __syncthreads();
    for (int i = 0; i < late_count; ++i) {
      const index_t mine = late[i];
      const O start = m.a_rowptr[mine], stop = m.a_rowptr[mine + 1];
      if (threadIdx.x == 0) late_products = 0;
      __syncthreads();
      const std::int64_t sum = warp_sum(products_of(m, std::int64_t{start} + threadIdx.x, stop, block));
      if (lane_id() == 0) atomicAdd(&late_products, static_cast<unsigned long long>(sum));
      __syncthreads();
      if (threadIdx.x == 0) rows.classify(mine, static_cast<std::int64_t>(late_products), stop - start);
    }
    __syncthreads();
  }
  rows.found.add_to(counts);
  const unsigned long long sum = warp_sum(rows.products);
  if (lane_id() == 0) atomicAdd(all_products, sum);
}

__global__ void __launch_bounds__(block) count_kernel(row_list from, const std::uint8_t* classes, index_t* counts) {
  __shared__ index_t shared[row_classes];
  const block_counts found{shared};
  found.clear();
  for (std::int64_t i = std::int64_t{blockIdx.x} * block + threadIdx.x; i < from.count();
       i += std::int64_t{gridDim.x} * block) {
    atomicAdd(shared + classes[from[static_cast<index_t>(i)]], 1);
  }
  found.add_to(counts);
}

/// A block takes 256 neighbours at a time; those of one class stay together and in order.
__global__ void __launch_bounds__(block) list_kernel(row_list from, const std::uint8_t* classes, const index_t* counts,
                                                     index_t* cursors, index_t* begins, index_t* list) {
  constexpr int warps = block / 32;
  __shared__ index_t place[warps][row_classes];
  __shared__ index_t begin[row_classes];
  if (threadIdx.x == 0) {
    index_t sum = 0;
    for (int c = 0; c < row_classes; ++c) {
      begin[c] = sum;
      if (blockIdx.x == 0) begins[c] = sum;
      sum += counts[c];
    }
  }
  const int warp = static_cast<int>(threadIdx.x) / 32;
  for (std::int64_t first = std::int64_t{blockIdx.x} * block; first < from.count();
       first += std::int64_t{gridDim.x} * block) {
    if (threadIdx.x < warps * row_classes) place[threadIdx.x / row_classes][threadIdx.x % row_classes] = 0;
    __syncthreads();
    const std::int64_t i = first + threadIdx.x;
    const bool mine = i < from.count();
    const index_t row = mine ? from[static_cast<index_t>(i)] : 0;
    const int c = mine ? classes[row] : row_classes;
    const unsigned alike = __match_any_sync(full_warp, c);
    const int before = __popc(alike & lanes_before());
    if (mine && before == 0) place[warp][c] = __popc(alike);
    __syncthreads();
    if (threadIdx.x < row_classes) {
      index_t sum = 0;
      for (int w = 0; w < warps; ++w) sum += place[w][threadIdx.x];
      index_t at = sum == 0 ? 0 : begin[threadIdx.x] + atomicAdd(cursors + threadIdx.x, sum);
      for (int w = 0; w < warps; ++w) {
        const index_t count = place[w][threadIdx.x];
        place[w][threadIdx.x] = at;
        at += count;
      }
    }
    __syncthreads();
    if (mine) list[place[warp][c] + before] = row;
    __syncthreads();
  }
}

static_assert(block >= block / 32 * row_classes);

unsigned blocks_for_rows(std::int64_t rows, int rows_a_block) {
  return static_cast<unsigned>(std::clamp<std::int64_t>((rows + rows_a_block - 1) / rows_a_block, 1, 4096));
}

}  // namespace

template <class O>
void classify_rows(const product_pattern<O>& m, double mean_row, std::uint8_t* classes, index_t* counts,
                   unsigned long long* products, index_t* entries, cudaStream_t stream) {
  const auto run = [&](auto kernel, int lanes) {
    kernel<<<blocks_for_rows(m.rows, block / lanes), block, 0, stream>>>(m, classes, counts, products, entries);
    check_launch("spgemm: classify_rows");
  };
  if (mean_row <= 4) return run(classify_kernel<2, O>, 2);
  if (mean_row <= 8) return run(classify_kernel<4, O>, 4);
  if (mean_row <= 48) return run(classify_kernel<8, O>, 8);
  run(classify_kernel<32, O>, 32);
}

void count_classes(const row_list& from, const std::uint8_t* classes, index_t* counts, cudaStream_t stream) {
  if (from.most == 0) return;
  count_kernel<<<blocks_for_rows(from.most, block), block, 0, stream>>>(from, classes, counts);
  check_launch("spgemm: count_classes");
}

void list_rows(const row_list& from, const std::uint8_t* classes, const index_t* counts, index_t* cursors,
               index_t* begins, index_t* list, cudaStream_t stream) {
  if (from.most == 0) return;
  list_kernel<<<blocks_for_rows(from.most, block), block, 0, stream>>>(from, classes, counts, cursors, begins, list);
  check_launch("spgemm: list_rows");
}

template void classify_rows<std::int32_t>(const product_pattern<std::int32_t>&, double, std::uint8_t*, index_t*,
                                          unsigned long long*, index_t*, cudaStream_t);
template void classify_rows<std::int64_t>(const product_pattern<std::int64_t>&, double, std::uint8_t*, index_t*,
                                          unsigned long long*, index_t*, cudaStream_t);

}  // namespace tulle::cuda
