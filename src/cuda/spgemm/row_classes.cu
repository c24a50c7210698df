// Classes of rows by products, and lists of the rows of each class. Two small passes: one reads A and two offsets of B
// per entry, the other a byte per row; up to 4096 rows are listed by the first. One thread: an entry of A at a time, 2
// to 32 lanes per row; then a row.
#include <algorithm>
#include <cub/block/block_scan.cuh>

#include "cuda/runtime/launch.cuh"
#include "cuda/spgemm/row_kernels.hpp"

namespace tulle::cuda {
namespace {

constexpr int block = 256;
/// A row of A with more entries than this, each of which has few products, would keep the few lanes of a sorted row
/// busy while others have long finished.
constexpr std::int64_t longest_sorted = 64;

__device__ row_class trial_of(std::int64_t products, std::int64_t largest_bucketed) {
  if (products > largest_bucketed) return trial;
  if (products <= 1024) return products <= 768 ? trial_768 : trial_1024;
  return products <= 2048 ? trial_2048 : trial_4096;
}

__device__ row_class class_of(std::int64_t products, std::int64_t entries, const class_limits& limits) {
  if (products == 0) return empty_row;
  if (entries > longest_sorted || products > limits.sorted) return trial_of(products, limits.bucketed);
  if (products <= 64)
    return products <= 16 ? (products <= 8 ? sorted_8 : sorted_16) : products <= 32 ? sorted_32 : sorted_64;
  if (products <= 256) return products <= 128 ? sorted_128 : sorted_256;
  return trial_512;
}

/// Whether the operands are sound and B's rows increase, as far as is known on the device.
__device__ bool is_good(const operand_check& check) {
  unsigned long long found = check.size > 0 ? check.counts[check.of_b].descents : 0;
  for (int i = 0; i < check.size; ++i) found |= check.counts[i].defects;
  return found == 0;
}

/// Rows of each class that a block finds, in shared memory.
struct block_counts {
  index_t* shared;
  __device__ void clear() const {
    if (threadIdx.x < row_classes) shared[threadIdx.x] = 0;
    __syncthreads();
  }
  /// Afterwards `shared` holds what `counts` had before.
  __device__ void add_to(index_t* counts) const {
    __syncthreads();
    if (threadIdx.x < row_classes && shared[threadIdx.x] != 0) {
      shared[threadIdx.x] = atomicAdd(counts + threadIdx.x, shared[threadIdx.x]);
    }
    __syncthreads();
  }
};

template <class O>
__device__ std::int64_t products_of(const product_pattern<O>& m, std::int64_t begin, std::int64_t end, int step) {
  std::int64_t products = 0;
#pragma unroll 4
  for (std::int64_t k = begin; k < end; k += step) {
    const index_t inner = __ldg(m.a_colind + k);
    products += __ldg(m.b_rowptr + inner + 1) - __ldg(m.b_rowptr + inner);
  }
  return products;
}

/// A row of A that is left to the whole block.
template <class O>
struct long_row {
  int slot;  // among the rows of the block
  O begin;
  O end;
  unsigned long long products;
};

/// Pieces of the long rows go to one warp after the other.
template <class O>
__device__ void add_long_rows(const product_pattern<O>& m, long_row<O>* rows, int count) {
  constexpr int piece = 512, warps = block / 32;
  int before_mine = static_cast<int>(threadIdx.x) / 32;  // pieces until the next of this warp
  for (int i = 0; i < count; ++i) {
    const std::int64_t end = rows[i].end;
    for (std::int64_t k = rows[i].begin; k < end;
         k += piece, before_mine = before_mine == 0 ? warps - 1 : before_mine - 1) {
      if (before_mine != 0) continue;
      const std::int64_t sum = warp_sum(products_of(m, k + lane_id(), min(k + piece, end), 32));
      if (lane_id() == 0) atomicAdd(&rows[i].products, static_cast<unsigned long long>(sum));
    }
  }
}

template <int Lanes, class O>
__global__ void __launch_bounds__(block)
    classify_kernel(product_pattern<O> m, class_limits limits, operand_check check, class_sink out) {
  constexpr int groups = block / Lanes;
  constexpr int longest = Lanes < 32 ? 64 : 512;  // a row of A with more entries is left to the whole block
  __shared__ index_t shared[row_classes];
  __shared__ std::uint8_t class_in[groups];
  __shared__ index_t place_in[groups];
  __shared__ long_row<O> late[groups];
  __shared__ int late_count;
  const block_counts found{shared};
  found.clear();
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    out.entries[m.rows] = 0;
    *out.words = check.size > 0 ? check.counts[check.of_b].word_changes : 0;
  }
  const bool good = is_good(check);
  const int lane = static_cast<int>(threadIdx.x) % Lanes, group = static_cast<int>(threadIdx.x) / Lanes;
  unsigned long long all_products = 0;
  const auto classify = [&](std::int64_t first, int slot, std::int64_t products, std::int64_t entries) {
    const row_class c = class_of(products, entries, limits);
    class_in[slot] = c;
    place_in[slot] = atomicAdd(shared + c, 1);
    if (out.classes != nullptr) out.classes[first + slot] = c;
    if (c == empty_row) out.entries[first + slot] = 0;
    all_products += static_cast<unsigned long long>(products);
  };
  std::int64_t first = std::int64_t{blockIdx.x} * groups;
  for (; first < m.rows; first += std::int64_t{gridDim.x} * groups) {
    if (threadIdx.x == 0) late_count = 0;
    __syncthreads();
    const std::int64_t row = first + group;
    const bool real = row < m.rows;
    const O begin = real && good ? m.a_rowptr[row] : 0, end = real && good ? m.a_rowptr[row + 1] : 0;
    const bool is_long = end - begin > longest;
    std::int64_t products = is_long ? 0 : products_of(m, std::int64_t{begin} + lane, std::int64_t{end}, Lanes);
    products = warp_sum<Lanes>(products);
    if (real && lane == 0) {
      if (is_long) {
        late[atomicAdd(&late_count, 1)] = {group, begin, end, 0};
      } else {
        classify(first, group, products, end - begin);
      }
    }
    __syncthreads();
    if (late_count > 0) {
      add_long_rows(m, late, late_count);
      __syncthreads();
      if (threadIdx.x < late_count) {
        const long_row<O>& mine = late[threadIdx.x];
        classify(first, mine.slot, static_cast<std::int64_t>(mine.products), mine.end - mine.begin);
      }
    }
    __syncthreads();
  }
  found.add_to(out.counts);
  if (out.lists != nullptr) {  // the block went round once
    first = std::int64_t{blockIdx.x} * groups;
    for (int slot = static_cast<int>(threadIdx.x); slot < groups && first + slot < m.rows; slot += block) {
      const int c = class_in[slot];
      out.lists[std::int64_t{c} * m.rows + shared[c] + place_in[slot]] = static_cast<index_t>(first + slot);
    }
  }
  const unsigned long long sum = warp_sum(all_products);
  if (lane_id() == 0 && sum != 0) atomicAdd(out.products, sum);
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
__global__ void __launch_bounds__(block)
    list_kernel(row_list from, const std::uint8_t* classes, const index_t* counts, index_t* cursors, index_t* begins,
                index_t* list, word_copy report) {
  constexpr int warps = block / 32;
  if (blockIdx.x == 0) report.run();
  __shared__ index_t place[warps][row_classes];
  __shared__ index_t begin[row_classes];
  static_assert(row_classes <= 32);
  if (threadIdx.x < 32) {
    const index_t mine = threadIdx.x < row_classes ? counts[threadIdx.x] : 0, before = warp_inclusive_sum(mine) - mine;
    if (threadIdx.x < row_classes) begin[threadIdx.x] = before;
    if (blockIdx.x == 0 && threadIdx.x < row_classes) begins[threadIdx.x] = before;
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

constexpr int scan_block = 1024, scan_items = most_listed / scan_block;

__global__ void __launch_bounds__(scan_block)
    scan_kernel(index_t rows, index_t* entries, long long* all, word_copy report) {
  using scan = cub::BlockScan<index_t, scan_block>;
  __shared__ typename scan::TempStorage shared;
  const int first = static_cast<int>(threadIdx.x) * scan_items;
  index_t mine[scan_items], sum = 0;
#pragma unroll
  for (int u = 0; u < scan_items; ++u) mine[u] = first + u < rows ? entries[first + u] : 0;
  scan(shared).ExclusiveSum(mine, mine, sum);
#pragma unroll
  for (int u = 0; u < scan_items; ++u) {
    if (first + u < rows) entries[first + u] = mine[u];
  }
  if (threadIdx.x == 0) *all = entries[rows] = sum;
  __syncthreads();
  report.run();
}

launch_shape rows_per_block(std::int64_t rows, int each) {
  return {std::clamp<std::int64_t>(ceil_div(rows, each), 1, 4096), block};
}

}  // namespace

void classify_rows(const product_ref& p, double mean_row, const class_limits& limits, const operand_check& check,
                   const class_sink& out, cudaStream_t stream) {
  p.with_offsets([&]<class O>() {
    const auto run = [&](auto kernel, int lanes) {
      launch("spgemm: classify_rows", kernel, rows_per_block(p.rows, block / lanes), stream, p.pattern<O>(), limits,
             check, out);
    };
    // Where there are few rows, more lanes per row than its entries need leave less to the longest.
    if (mean_row > 48 || p.rows <= 8192) return run(classify_kernel<32, O>, 32);
    if (mean_row > 8 || p.rows <= 32768) return run(classify_kernel<8, O>, 8);
    mean_row > 4 ? run(classify_kernel<4, O>, 4) : run(classify_kernel<2, O>, 2);
  });
}

void count_classes(const row_list& from, const std::uint8_t* classes, index_t* counts, cudaStream_t stream) {
  if (from.most == 0) return;
  launch("spgemm: count_classes", count_kernel, rows_per_block(from.most, block), stream, from, classes, counts);
}

void list_rows(const row_list& from, const std::uint8_t* classes, const index_t* counts, index_t* cursors,
               index_t* begins, index_t* list, const word_copy& report, cudaStream_t stream) {
  if (from.most == 0) return;
  launch("spgemm: list_rows", list_kernel, rows_per_block(from.most, block), stream, from, classes, counts, cursors,
         begins, list, report);
}

void scan_listed(index_t rows, index_t* entries, long long* all, const word_copy& report, cudaStream_t stream) {
  launch("spgemm: scan_listed", scan_kernel, {1, scan_block}, stream, rows, entries, all, report);
}

}  // namespace tulle::cuda
