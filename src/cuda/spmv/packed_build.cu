// Passes: sort the windows and count their slices; place the windows; describe the slices; choose how each stores its
// columns; write bases and offsets; write values. A block takes a window, or a warp a slice.
#include "cuda/runtime/read_back.hpp"
#include "cuda/spmv/packed_build.hpp"

#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_scan.cuh>

#include "cuda/runtime/place_records.cuh"
#include "cuda/runtime/primitives.hpp"
#include "cuda/device/warp.cuh"
#include "cuda/runtime/device_guard.hpp"

namespace tulle::cuda {
namespace {

constexpr int threads = 256;
constexpr int rows_a_thread = packed_window / threads;
constexpr int classes = 6;  // 1 to 32 lanes a row
constexpr index_t most_index = 0x7fffffff;
constexpr index_t least_index = -most_index - 1;

__host__ __device__ constexpr int ceil_shift(int n, int shift) { return (n + (1 << shift) - 1) >> shift; }

/// What windows add up to; after the scan, what lies before a window.
struct packed_totals {
  std::uint32_t slices;  // parts not counted
  std::uint32_t bases;   // groups
  std::uint32_t parts;
  std::uint32_t long_rows;

  __device__ friend packed_totals operator+(const packed_totals& a, const packed_totals& b) {
    return {a.slices + b.slices, a.bases + b.bases, a.parts + b.parts, a.long_rows + b.long_rows};
  }
};

/// The slices of a window, from its row lengths in decreasing order.
struct window_plan {
  int begin[classes + 1];  // rows of class c are [begin[c + 1], begin[c]); rows before begin[classes] are long
  int slices[classes];
  int height;

  __device__ void divide(const int* length, int rows, const packed_shape& shape) {
    begin[0] = rows;
    for (int c = 1; c <= classes; ++c) {
      const int most = c == classes ? shape.part_length : shape.positions << (c - 1);
      int low = 0, high = begin[c - 1];  // first row of at most `most` entries
      while (low < high) {
        const int middle = (low + high) / 2;
        if (length[middle] > most) low = middle + 1; else high = middle;
      }
      begin[c] = low;
    }
    height = shape.height;
    for (int c = 0; c < classes; ++c) slices[c] = (begin[c] - begin[c + 1] + (height >> c) - 1) / (height >> c);
  }
  __device__ int long_rows() const { return begin[classes]; }
  __device__ int slice_count() const {
    int n = 0;
    for (int c = 0; c < classes; ++c) n += slices[c];
    return n;
  }
  /// Slice i, widest lanes first: its class, first row and number of rows.
  __device__ void locate(int i, int& c, int& first, int& rows) const {
    c = classes - 1;
    for (; c > 0 && i >= slices[c]; --c) i -= slices[c];
    first = begin[c + 1] + i * (height >> c);
    rows = min(height >> c, begin[c] - first);
  }
};

__device__ int groups_of(int width) { return (width + packed_base_group - 1) / packed_base_group; }

__device__ std::uint32_t parts_of(std::int64_t length, const packed_shape& shape) {
  return static_cast<std::uint32_t>((length + shape.part_length - 1) / shape.part_length);
}

/// Groups of bases of a row that is cut.
__device__ std::uint32_t groups_of_long(std::int64_t length, const packed_shape& shape) {
  const std::int64_t whole = length / shape.part_length;
  const int rest = static_cast<int>(length - whole * shape.part_length);
  return static_cast<std::uint32_t>(whole) * groups_of(shape.part_length / shape.height) + groups_of((rest + shape.height - 1) / shape.height);
}

template <class O>
__device__ std::int64_t length_of(const O* rowptr, std::int64_t row) {
  return std::int64_t{rowptr[row + 1]} - rowptr[row];
}

template <class O>
__global__ void __launch_bounds__(threads)
    sort_windows(index_t rows, const O* rowptr, int length_bits, packed_shape shape, std::uint16_t* order,
                 std::uint16_t* length, packed_totals* totals) {
  using sorter = cub::BlockRadixSort<std::uint16_t, threads, rows_a_thread, std::uint16_t>;
  using adder = cub::BlockScan<packed_totals, threads>;
  __shared__ union {
    typename sorter::TempStorage sort;
    typename adder::TempStorage add;
  } shared;
  __shared__ int sorted[packed_window];
  __shared__ window_plan plan;
  const std::int64_t first = std::int64_t{blockIdx.x} * packed_window;
  const int in_window = static_cast<int>(min(std::int64_t{packed_window}, rows - first));
  std::uint16_t key[rows_a_thread], local[rows_a_thread];
  for (int i = 0; i < rows_a_thread; ++i) {
    const int r = static_cast<int>(threadIdx.x) * rows_a_thread + i;
    local[i] = static_cast<std::uint16_t>(r);
    key[i] = r < in_window ? static_cast<std::uint16_t>(min(length_of(rowptr, first + r), std::int64_t{65535})) : std::uint16_t{0};
    sorted[r] = key[i];
  }
  __syncthreads();
  bool moves = false;
  for (int i = 0; i < rows_a_thread; ++i) {
    const int r = static_cast<int>(threadIdx.x) * rows_a_thread + i;
    moves |= r > 0 && sorted[r - 1] < sorted[r];
  }
  if (__syncthreads_or(moves) != 0) {
    sorter(shared.sort).SortDescending(key, local, 0, length_bits);
    for (int i = 0; i < rows_a_thread; ++i) sorted[threadIdx.x * rows_a_thread + i] = key[i];
  }
  for (int i = 0; i < rows_a_thread; ++i) {
    const int r = static_cast<int>(threadIdx.x) * rows_a_thread + i;
    if (r >= in_window) continue;
    order[first + r] = local[i];
    length[first + r] = key[i];
  }
  __syncthreads();
  if (threadIdx.x == 0) plan.divide(sorted, in_window, shape);
  __syncthreads();

  packed_totals mine{};
  const int slices = plan.slice_count();
  for (int i = static_cast<int>(threadIdx.x); i < slices; i += threads) {
    int c, row, count;
    plan.locate(i, c, row, count);
    mine.bases += groups_of(ceil_shift(sorted[row], c));
    ++mine.slices;
  }
  for (int r = static_cast<int>(threadIdx.x); r < plan.long_rows(); r += threads) {
    const std::int64_t n = length_of(rowptr, first + order[first + r]);
    mine.bases += groups_of_long(n, shape);
    mine.parts += parts_of(n, shape);
    ++mine.long_rows;
  }
  packed_totals sum;
  adder(shared.add).InclusiveScan(mine, sum, [](const packed_totals& a, const packed_totals& b) { return a + b; });
  if (threadIdx.x == threads - 1) totals[blockIdx.x] = sum;
}

struct packed_arrays {
  packed_slice* slice;
  std::uint32_t* part_row;
  std::uint16_t* part_length;
  packed_long_row* long_row;
};

template <class O>
__global__ void __launch_bounds__(threads)
    describe_slices(index_t rows, const O* rowptr, packed_shape shape, const std::uint16_t* order,
                    const std::uint16_t* length, const packed_totals* totals, packed_arrays out) {
  struct prefix {
    std::int64_t values;
    std::uint32_t bases;
    std::uint32_t parts;
  };
  using scanner = cub::BlockScan<prefix, threads>;
  using base_scanner = cub::BlockScan<int, threads>;
  __shared__ union {
    typename scanner::TempStorage rows;
    typename base_scanner::TempStorage bases;
  } shared;
  __shared__ int sorted[packed_window];
  __shared__ std::int64_t values_before[packed_window];
  __shared__ std::uint32_t bases_before_row[packed_window];
  __shared__ window_plan plan;
  const auto add = [](const prefix& a, const prefix& b) { return prefix{a.values + b.values, a.bases + b.bases, a.parts + b.parts}; };
  const std::int64_t first = std::int64_t{blockIdx.x} * packed_window;
  const int in_window = static_cast<int>(min(std::int64_t{packed_window}, rows - first));
  const packed_totals before = totals[blockIdx.x];
  const std::int64_t window_values = rowptr[first];
  for (int r = static_cast<int>(threadIdx.x); r < in_window; r += threads) sorted[r] = length[first + r];
  __syncthreads();
  if (threadIdx.x == 0) plan.divide(sorted, in_window, shape);
  __syncthreads();

  // Where each row starts, and the parts of long rows.
  prefix mine[rows_a_thread];
  for (int i = 0; i < rows_a_thread; ++i) {
    const int r = static_cast<int>(threadIdx.x) * rows_a_thread + i;
    mine[i] = {};
    if (r >= in_window) continue;
    mine[i].values = r < plan.long_rows() ? length_of(rowptr, first + order[first + r]) : std::int64_t{sorted[r]};
    if (r < plan.long_rows()) mine[i].bases = groups_of_long(mine[i].values, shape), mine[i].parts = parts_of(mine[i].values, shape);
  }
  prefix of_row[rows_a_thread], all;
  scanner(shared.rows).ExclusiveScan(mine, of_row, prefix{}, add, all);
  for (int i = 0; i < rows_a_thread; ++i) {
    const int r = static_cast<int>(threadIdx.x) * rows_a_thread + i;
    if (r < in_window) values_before[r] = of_row[i].values;
    if (r >= plan.long_rows()) continue;
    bases_before_row[r] = before.bases + of_row[i].bases;
    const std::uint32_t slot = before.long_rows + static_cast<std::uint32_t>(r);
    out.long_row[slot] = {static_cast<index_t>(first + order[first + r]), before.parts + of_row[i].parts, mine[i].parts, 0};
  }
  __syncthreads();
  for (int r = 0; r < plan.long_rows(); ++r) {  // the block shares out the parts of one row after another
    const packed_long_row row = out.long_row[before.long_rows + r];
    const std::int64_t n = length_of(rowptr, row.row);
    for (std::uint32_t p = threadIdx.x; p < row.count; p += threads) {
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
  for (int begin = 0; begin < slices; begin += threads) {
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

/// The lanes that a thread of a warp is, and where their entries start in the CSR.
template <int Halves, class O>
struct packed_source {
  packed_lane lane[Halves];
  std::int64_t first[Halves];

  __device__ packed_source(const packed_pattern& a, const packed_slice& s, const O* rowptr, int part_length) {
    for (int h = 0; h < Halves; ++h) {
      lane[h] = lane_of(a, s, 32 * h + lane_id());
      first[h] = 0;
      if (lane[h].count == 0) continue;
      first[h] = std::int64_t{rowptr[lane[h].row]} + lane[h].within;
      if (s.rows == 0) first[h] += std::int64_t{s.order - a.long_row[a.part_row[s.order]].first} * part_length;
    }
  }
  /// The entry at position p; -1 when there is none.
  __device__ std::int64_t entry(const packed_slice& s, int h, int p) const {
    return p < lane[h].count ? first[h] + (std::int64_t{p} << s.lanes_log2) : -1;
  }
};

template <int Halves, class O>
__global__ void choose_offsets(packed_pattern a, const O* rowptr, const index_t* colind, int part_length,
                               packed_slice* slices, std::int64_t* words) {
  const std::int64_t i = (grid_thread()) / 32;
  if (i >= a.slices) return;
  const packed_slice s = a.slice[i];
  const packed_source<Halves, O> source(a, s, rowptr, part_length);
  constexpr int origins = 4;
  index_t origin[Halves][origins];
  for (int h = 0; h < Halves; ++h) {
    for (int o = 0; o < origins; ++o) origin[h][o] = origin_of(static_cast<packed_origin>(o), source.lane[h], a.block);
  }
  std::uint32_t spread[origins] = {};
  if (a.block == 1) spread[static_cast<int>(packed_origin::block)] = ~0u;
  std::uint32_t entries = 0;
  for (int p = 0; p < s.width; ++p) {
    index_t low[origins], high[origins];
    for (int o = 0; o < origins; ++o) low[o] = most_index, high[o] = least_index;
    for (int h = 0; h < Halves; ++h) {
      const std::int64_t k = source.entry(s, h, p);
      if (k < 0) continue;
      ++entries;
      const index_t column = colind[k];
      for (int o = 0; o < origins; ++o) {
        low[o] = min(low[o], column - origin[h][o]);
        high[o] = max(high[o], column - origin[h][o]);
      }
    }
#pragma unroll
    for (int o = 0; o < origins; ++o) {
      if (spread[o] > 0xffff) continue;  // the same for all lanes
      spread[o] = max(spread[o], static_cast<std::uint32_t>(warp_max(high[o])) - static_cast<std::uint32_t>(warp_min(low[o])));
    }
  }
  entries = warp_sum(entries);
  if (lane_id() != 0) return;
  int best = 0;
  for (int o = 1; o < origins; ++o) best = spread[o] < spread[best] ? o : best;
  const std::uint32_t most = spread[best];
  const int bytes = s.width == 0 || most == 0 ? 0 : most <= 0xff ? 1 : most <= 0xffff ? 2 : 4;
  slices[i].offset_bytes = static_cast<std::uint8_t>(bytes);
  slices[i].origin = bytes == 4 ? packed_origin::zero : static_cast<packed_origin>(best);
  words[i] = (std::int64_t{entries} * bytes + 3) / 4;
  if (i == 0) words[a.slices] = 0;
}

template <int Halves, class O>
__global__ void write_offsets(packed_pattern a, const O* rowptr, const index_t* colind, int part_length,
                              const std::int64_t* words, packed_slice* slices, index_t* base,
                              std::uint32_t* offsets) {
  const std::int64_t i = (grid_thread()) / 32;
  if (i >= a.slices) return;
  const packed_slice s = a.slice[i];
  const packed_source<Halves, O> source(a, s, rowptr, part_length);
  const unsigned below = (1u << lane_id()) - 1;
  index_t* const bases = base + std::int64_t{s.bases} * packed_base_group;
  std::uint32_t* const out = offsets + words[i];
  int before = 0;
  for (int p = 0; p < s.width; ++p) {
    index_t shifted[Halves];
    index_t low = most_index;
    for (int h = 0; h < Halves; ++h) {
      const std::int64_t k = source.entry(s, h, p);
      shifted[h] = k >= 0 ? colind[k] - origin_of(s.origin, source.lane[h], a.block) : most_index;
      low = min(low, shifted[h]);
    }
    low = s.offset_bytes == 4 ? 0 : warp_min(low);
    if (lane_id() == 0) bases[p] = low;
    for (int h = 0; h < Halves; ++h) {
      const bool live = p < source.lane[h].count;
      const unsigned active = __ballot_sync(full_warp, live);
      const int at = before + __popc(active & below);
      before += __popc(active);
      if (!live) continue;
      const auto offset = static_cast<std::uint32_t>(shifted[h] - low);
      if (s.offset_bytes == 1) reinterpret_cast<std::uint8_t*>(out)[at] = static_cast<std::uint8_t>(offset);
      if (s.offset_bytes == 2) reinterpret_cast<std::uint16_t*>(out)[at] = static_cast<std::uint16_t>(offset);
      if (s.offset_bytes == 4) out[at] = offset;
    }
  }
  if (lane_id() < groups_of(s.width) * packed_base_group - s.width) bases[s.width + lane_id()] = 0;
  if (lane_id() == 0) slices[i].offsets = static_cast<std::uint32_t>(words[i]);
}

template <int Halves, class T, class O>
__global__ void write_values(packed_pattern a, const O* rowptr, int part_length, const T* values, T* packed) {
  const std::int64_t i = (grid_thread()) / 32;
  if (i >= a.slices) return;
  const packed_slice s = a.slice[i];
  const packed_source<Halves, O> source(a, s, rowptr, part_length);
  const unsigned below = (1u << lane_id()) - 1;
  std::int64_t before = s.values;
  for (int p = 0; p < s.width; ++p) {
    for (int h = 0; h < Halves; ++h) {
      const std::int64_t k = source.entry(s, h, p);
      const unsigned active = __ballot_sync(full_warp, k >= 0);
      if (k >= 0) packed[before + __popc(active & below)] = values[k];
      before += __popc(active);
    }
  }
}

/// A warp a slice.
template <class... Parameters, class... Args>
void launch_slices(const context& ctx, const char* name, void (*kernel)(Parameters...), std::int64_t slices, const Args&... args) {
  if (slices == 0) return;
  kernel<<<static_cast<unsigned>(ceil_div(slices, threads / 32)), threads, 0, native(ctx)>>>(args...);
  check_launch(name);
}

}  // namespace

template <offset O>
packed_storage::packed_storage(const context& ctx, index_t rows, const O* rowptr, const index_t* colind, index_t longest,
                               const packed_shape& shape)
    : rows_(rows), shape_(shape), order_(ctx, static_cast<std::size_t>(rows)), length_(ctx, static_cast<std::size_t>(rows)) {
  if (rows == 0) return;
  const device_guard guard(ctx.device());
  const std::int64_t windows = ceil_div(rows, packed_window);
  buffer<packed_totals> totals(ctx, static_cast<std::size_t>(windows) + 1);
  const int length_bits = std::max(1, bits_for(std::min<std::int64_t>(longest, 65535) + 1));
  const auto grid = static_cast<unsigned>(windows);
  sort_windows<O><<<grid, threads, 0, native(ctx)>>>(rows, rowptr, length_bits, shape, order_.data(), length_.data(), totals.data());
  check_launch("packed.sort_windows");
  const packed_totals all = place_records(ctx, totals);
  parts_ = all.parts;
  long_rows_ = all.long_rows;
  slices_ = parts_ + all.slices;
  slice_ = buffer<packed_slice>(ctx, static_cast<std::size_t>(slices_));
  base_ = buffer<index_t>(ctx, static_cast<std::size_t>(all.bases) * packed_base_group);
  part_row_ = buffer<std::uint32_t>(ctx, static_cast<std::size_t>(parts_));
  part_length_ = buffer<std::uint16_t>(ctx, static_cast<std::size_t>(parts_));
  long_row_ = buffer<packed_long_row>(ctx, static_cast<std::size_t>(long_rows_));
  describe_slices<O><<<grid, threads, 0, native(ctx)>>>(
      rows, rowptr, shape, order_.data(), length_.data(), totals.data(),
      packed_arrays{slice_.data(), part_row_.data(), part_length_.data(), long_row_.data()});
  check_launch("packed.describe_slices");
  buffer<std::int64_t> words(ctx, static_cast<std::size_t>(slices_) + 1);
  const bool two = shape_.height == 64;
  launch_slices(ctx, "packed.choose_offsets", two ? choose_offsets<2, O> : choose_offsets<1, O>, slices_, view(), rowptr, colind, shape.part_length,
                slice_.data(), words.data());
  exclusive_scan(ctx, words);
  offsets_ = buffer<std::uint32_t>(ctx, static_cast<std::size_t>(read_back(ctx, words.data() + slices_)));
  launch_slices(ctx, "packed.write_offsets", two ? write_offsets<2, O> : write_offsets<1, O>, slices_, view(), rowptr, colind, shape.part_length,
                words.data(), slice_.data(), base_.data(), offsets_.data());
}

packed_pattern packed_storage::view() const {
  return {slices_,          slice_.data(),       base_.data(),     offsets_.data(), order_.data(), length_.data(),
          part_row_.data(), part_length_.data(), long_row_.data(), shape_.block};
}

std::size_t packed_storage::bytes() const noexcept {
  return slice_.bytes() + base_.bytes() + offsets_.bytes() + order_.bytes() + length_.bytes() + part_row_.bytes() +
         part_length_.bytes() + long_row_.bytes();
}

template <scalar T, offset O>
void packed_storage::fill_values(const context& ctx, const O* rowptr, const T* values, T* packed) const {
  const device_guard guard(ctx.device());
  launch_slices(ctx, "packed.write_values", shape_.height == 64 ? write_values<2, T, O> : write_values<1, T, O>, slices_, view(), rowptr, shape_.part_length, values, packed);
}

#define TULLE_INSTANTIATE(O)                                                                                       \
  template packed_storage::packed_storage(const context&, index_t, const O*, const index_t*, index_t,              \
                                          const packed_shape&);                                                    \
  template void packed_storage::fill_values(const context&, const O*, const float*, float*) const;                 \
  template void packed_storage::fill_values(const context&, const O*, const double*, double*) const;
TULLE_INSTANTIATE(std::int32_t)
TULLE_INSTANTIATE(std::int64_t)
#undef TULLE_INSTANTIATE

}  // namespace tulle::cuda
