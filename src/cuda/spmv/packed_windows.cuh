// How packed_build.cu divides rows: into windows sorted by length, and each window into slices. One block per window.
#pragma once

#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_scan.cuh>

#include "cuda/runtime/launch.cuh"
#include "cuda/spmv/packed_build.hpp"

namespace tulle::cuda {

constexpr int window_threads = 256;  // per block
constexpr int rows_per_thread = packed_window / window_threads;
constexpr int lane_classes = 6;  // 1 to 32 lanes per row

__host__ __device__ constexpr int ceil_shift(int n, int shift) { return (n + (1 << shift) - 1) >> shift; }

/// Counts of a window; after the scan, those of all windows before it.
struct packed_totals {
  std::uint32_t slices;  // other than parts
  std::uint32_t bases;   // groups of packed_base_group
  std::uint32_t parts;
  std::uint32_t long_rows;

  __device__ friend packed_totals operator+(const packed_totals& a, const packed_totals& b) {
    return {a.slices + b.slices, a.bases + b.bases, a.parts + b.parts, a.long_rows + b.long_rows};
  }
};

/// The slices of a window, from its row lengths in decreasing order.
struct window_plan {
  int begin[lane_classes +
            1];  // rows of class c are [begin[c + 1], begin[c]); rows before begin[lane_classes] are long
  int slices[lane_classes];
  int height;

  __device__ void divide(const int* length, int rows, const packed_shape& shape) {
    begin[0] = rows;
    for (int c = 1; c <= lane_classes; ++c) {
      const int most = c == lane_classes ? shape.part_length : shape.positions << (c - 1);
      int low = 0, high = begin[c - 1];  // first row of at most `most` entries
      while (low < high) {
        const int middle = (low + high) / 2;
        if (length[middle] > most)
          low = middle + 1;
        else
          high = middle;
      }
      begin[c] = low;
    }
    height = shape.height;
    for (int c = 0; c < lane_classes; ++c) slices[c] = (begin[c] - begin[c + 1] + (height >> c) - 1) / (height >> c);
  }
  __device__ int long_rows() const { return begin[lane_classes]; }
  __device__ int slice_count() const {
    int n = 0;
    for (int c = 0; c < lane_classes; ++c) n += slices[c];
    return n;
  }
  /// Slice i, widest lanes first: its class, first row and number of rows.
  __device__ void locate(int i, int& c, int& first, int& rows) const {
    c = lane_classes - 1;
    for (; c > 0 && i >= slices[c]; --c) i -= slices[c];
    first = begin[c + 1] + i * (height >> c);
    rows = min(height >> c, begin[c] - first);
  }
};

__device__ inline int groups_of(int width) { return (width + packed_base_group - 1) / packed_base_group; }

__device__ inline std::uint32_t parts_of(std::int64_t length, const packed_shape& shape) {
  return static_cast<std::uint32_t>(ceil_div(length, shape.part_length));
}

/// Groups of bases of a row that is cut.
__device__ inline std::uint32_t groups_of_long(std::int64_t length, const packed_shape& shape) {
  const std::int64_t whole = length / shape.part_length;
  const int rest = static_cast<int>(length - whole * shape.part_length);
  return static_cast<std::uint32_t>(whole) * groups_of(shape.part_length / shape.height) +
         groups_of((rest + shape.height - 1) / shape.height);
}

template <class O>
__device__ std::int64_t length_of(const O* rowptr, std::int64_t row) {
  return std::int64_t{rowptr[row + 1]} - rowptr[row];
}

/// Sorts the rows of each window by decreasing length and, of the same length, by the form of their values (null:
/// all alike), and counts its slices.
template <class O>
__global__ void __launch_bounds__(window_threads)
    sort_windows(index_t rows, const O* rowptr, const row_form* form, int length_bits, packed_shape shape,
                 std::uint16_t* order, std::uint16_t* length, packed_totals* totals) {
  using sorter = cub::BlockRadixSort<std::uint32_t, window_threads, rows_per_thread, std::uint16_t>;
  using adder = cub::BlockScan<packed_totals, window_threads>;
  __shared__ union {
    typename sorter::TempStorage sort;
    typename adder::TempStorage add;
  } shared;
  __shared__ int sorted[packed_window];
  __shared__ window_plan plan;
  const std::int64_t first = std::int64_t{blockIdx.x} * packed_window;
  const int in_window = static_cast<int>(min(std::int64_t{packed_window}, rows - first));
  std::uint32_t key[rows_per_thread];
  std::uint16_t local[rows_per_thread];
  for (int i = 0; i < rows_per_thread; ++i) {
    const int r = static_cast<int>(threadIdx.x) * rows_per_thread + i;
    local[i] = static_cast<std::uint16_t>(r);
    key[i] = 0;
    if (r < in_window) {
      key[i] = static_cast<std::uint32_t>(min(length_of(rowptr, first + r), std::int64_t{65535})) << row_form_bits;
      if (form != nullptr) key[i] |= form[first + r] & ((1u << row_form_bits) - 1);  // any_form: of rows without values
    }
    sorted[r] = static_cast<int>(key[i]);
  }
  __syncthreads();
  bool moves = false;
  for (int i = 0; i < rows_per_thread; ++i) {
    const int r = static_cast<int>(threadIdx.x) * rows_per_thread + i;
    moves |= r > 0 && sorted[r - 1] < sorted[r];
  }
  if (__syncthreads_or(moves) != 0) {
    sorter(shared.sort).SortDescending(key, local, form == nullptr ? row_form_bits : 0, row_form_bits + length_bits);
  }
  __syncthreads();
  for (int i = 0; i < rows_per_thread; ++i) {
    const int r = static_cast<int>(threadIdx.x) * rows_per_thread + i;
    sorted[r] = static_cast<int>(key[i] >> row_form_bits);
    if (r >= in_window) continue;
    order[first + r] = local[i];
    length[first + r] = static_cast<std::uint16_t>(sorted[r]);
  }
  __syncthreads();
  if (threadIdx.x == 0) plan.divide(sorted, in_window, shape);
  __syncthreads();

  packed_totals mine{};
  const int slices = plan.slice_count();
  for (int i = static_cast<int>(threadIdx.x); i < slices; i += window_threads) {
    int c, row, count;
    plan.locate(i, c, row, count);
    mine.bases += groups_of(ceil_shift(sorted[row], c));
    ++mine.slices;
  }
  for (int r = static_cast<int>(threadIdx.x); r < plan.long_rows(); r += window_threads) {
    const std::int64_t n = length_of(rowptr, first + order[first + r]);
    mine.bases += groups_of_long(n, shape);
    mine.parts += parts_of(n, shape);
    ++mine.long_rows;
  }
  packed_totals sum;
  adder(shared.add).InclusiveScan(mine, sum, [](const packed_totals& a, const packed_totals& b) { return a + b; });
  if (threadIdx.x == window_threads - 1) totals[blockIdx.x] = sum;
}

struct packed_arrays {
  packed_slice* slice;
  std::uint32_t* part_row;
  std::uint16_t* part_length;
  packed_long_row* long_row;
};

/// `totals`: of the windows before each, and of all.
template <class O>
__global__ void __launch_bounds__(window_threads)
    describe_slices(index_t rows, const O* rowptr, packed_shape shape, const std::uint16_t* order,
                    const std::uint16_t* length, const packed_totals* totals, packed_arrays out) {
  struct prefix {
    std::int64_t values;
    std::uint32_t bases;
    std::uint32_t parts;
  };
  using scanner = cub::BlockScan<prefix, window_threads>;
  using base_scanner = cub::BlockScan<int, window_threads>;
  __shared__ union {
    typename scanner::TempStorage rows;
    typename base_scanner::TempStorage bases;
  } shared;
  __shared__ int sorted[packed_window];
  __shared__ std::int64_t values_before[packed_window];
  __shared__ std::uint32_t bases_before_row[packed_window];
  __shared__ window_plan plan;
  const auto add = [](const prefix& a, const prefix& b) {
    return prefix{a.values + b.values, a.bases + b.bases, a.parts + b.parts};
  };
  const std::int64_t first = std::int64_t{blockIdx.x} * packed_window;
  const int in_window = static_cast<int>(min(std::int64_t{packed_window}, rows - first));
  const packed_totals before = totals[blockIdx.x];
  const std::int64_t window_values = rowptr[first];
  for (int r = static_cast<int>(threadIdx.x); r < in_window; r += window_threads) sorted[r] = length[first + r];
  __syncthreads();
  if (threadIdx.x == 0) plan.divide(sorted, in_window, shape);
  __syncthreads();

  // Where each row starts, and the parts of long rows.
  prefix mine[rows_per_thread];
  for (int i = 0; i < rows_per_thread; ++i) {
    const int r = static_cast<int>(threadIdx.x) * rows_per_thread + i;
    mine[i] = {};
    if (r >= in_window) continue;
    mine[i].values = r < plan.long_rows() ? length_of(rowptr, first + order[first + r]) : std::int64_t{sorted[r]};
    if (r < plan.long_rows())
      mine[i].bases = groups_of_long(mine[i].values, shape), mine[i].parts = parts_of(mine[i].values, shape);
  }
  prefix of_row[rows_per_thread], all;
  scanner(shared.rows).ExclusiveScan(mine, of_row, prefix{}, add, all);
  for (int i = 0; i < rows_per_thread; ++i) {
    const int r = static_cast<int>(threadIdx.x) * rows_per_thread + i;
    if (r < in_window) values_before[r] = of_row[i].values;
    if (r >= plan.long_rows()) continue;
    bases_before_row[r] = before.bases + of_row[i].bases;
    const std::uint32_t slot = before.long_rows + static_cast<std::uint32_t>(r);
    out.long_row[slot] = {static_cast<index_t>(first + order[first + r]), before.parts + of_row[i].parts, mine[i].parts,
                          0};
  }
  __syncthreads();
  for (int r = 0; r < plan.long_rows(); ++r) {  // the threads share the parts of one row after another
    const packed_long_row row = out.long_row[before.long_rows + r];
    const std::int64_t n = length_of(rowptr, row.row);
    for (std::uint32_t p = threadIdx.x; p < row.count; p += window_threads) {
      const int part = static_cast<int>(min(n - std::int64_t{p} * shape.part_length, std::int64_t{shape.part_length}));
      packed_slice s{};
      s.values = window_values + values_before[r] + std::int64_t{p} * shape.part_length;
      s.bases = bases_before_row[r] + p * static_cast<std::uint32_t>(groups_of(shape.part_length / shape.height));
      s.first_row = row.row;
      s.order = row.first + p;
      s.full = static_cast<std::uint16_t>(part / shape.height);
      s.width = static_cast<std::uint16_t>((part + shape.height - 1) / shape.height);
      s.lanes_log2 = shape.height == 64 ? 6 : 5;
      out.slice[row.first + p] = s;
      out.part_row[row.first + p] = before.long_rows + static_cast<std::uint32_t>(r);
      out.part_length[row.first + p] = static_cast<std::uint16_t>(part);
    }
  }

  const std::uint32_t all_parts = totals[gridDim.x].parts;
  std::uint32_t bases = before.bases + all.bases;
  const int slices = plan.slice_count();
  for (int begin = 0; begin < slices; begin += window_threads) {
    const int i = begin + static_cast<int>(threadIdx.x);
    int c = 0, row = 0, count = 0, width = 0;
    if (i < slices) {
      plan.locate(i, c, row, count);
      width = ceil_shift(sorted[row], c);
    }
    int bases_before = 0, sum = 0;
    base_scanner(shared.bases).ExclusiveSum(groups_of(width), bases_before, sum);
    if (i < slices) {
      packed_slice s{};
      s.values = window_values + values_before[row];
      s.bases = bases + static_cast<std::uint32_t>(bases_before);
      s.order = static_cast<std::uint32_t>(first) + static_cast<std::uint32_t>(row);
      s.full = static_cast<std::uint16_t>(count == shape.height >> c ? sorted[row + count - 1] >> c : 0);
      s.width = static_cast<std::uint16_t>(width);
      s.lanes_log2 = static_cast<std::uint8_t>(c);
      s.rows = static_cast<std::uint8_t>(count);
      const int first_local = order[first + row];
      bool contiguous = true;
      for (int k = 1; k < count; ++k) contiguous &= order[first + row + k] == first_local + k;
      s.first_row = static_cast<index_t>(first) + (contiguous ? first_local : 0);
      if (contiguous) s.rows |= packed_contiguous;
      out.slice[all_parts + before.slices + static_cast<std::uint32_t>(i)] = s;
    }
    bases += static_cast<std::uint32_t>(sum);
    __syncthreads();
  }
}

}  // namespace tulle::cuda
