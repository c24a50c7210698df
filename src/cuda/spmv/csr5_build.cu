// Makes the storage of csr5: count the tiles of every chunk of rows; place the chunks; describe the tiles; fill them.
// One block per chunk, then one per tile.
#include <cub/block/block_scan.cuh>
#include <cuda/functional>
#include <limits>

#include "cuda/device/warp.cuh"
#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/place_records.cuh"
#include "cuda/spmv/csr5_build.hpp"

namespace tulle::cuda {
namespace {

constexpr int threads = 256;  // per block that plans tiles

struct csr5_build_policy {
  static constexpr int least_chunk_rows = 64, most_chunk_rows = 4096;
  static constexpr bool small(std::int64_t nnz) { return nnz < 2'000'000; }
  /// About so many per chunk: the last tile of a chunk is half empty on average, but tiles are found one after another.
  static constexpr std::int64_t chunk_tiles(std::int64_t nnz) { return small(nnz) ? 8 : 24; }
  /// Tiles of a long row that one block sums: more leave fewer parts to add at the end, but fewer blocks share the
  /// work.
  static constexpr int group_tiles(std::int64_t nnz) { return small(nnz) ? 1 : 4; }
  /// From so many on a pass over all columns pays that finds where those of a tile begin.
  static constexpr std::int64_t counts_from_first(std::int64_t nnz, index_t cols) {
    return nnz >= 250'000 && cols > csr5_columns<2>::empty;
  }
};

int chunk_rows_for(std::int64_t rows, std::int64_t nnz) {
  using policy = csr5_build_policy;
  const std::int64_t mean = std::max<std::int64_t>(1, nnz / std::max<std::int64_t>(1, rows));
  return static_cast<int>(std::clamp<std::int64_t>(policy::chunk_tiles(nnz) * csr5_slots / mean,
                                                   policy::least_chunk_rows, policy::most_chunk_rows));
}

/// Counts of a chunk; after the scan, those of all chunks before it.
struct csr5_totals {
  std::int64_t tiles;  // of whole rows
  std::int64_t long_tiles;
  std::int64_t groups;

  __device__ friend csr5_totals operator+(const csr5_totals& a, const csr5_totals& b) {
    return {a.tiles + b.tiles, a.long_tiles + b.long_tiles, a.groups + b.groups};
  }
};

/// Rows of a chunk, by the slots before them. A long row counts as one slot more than a tile has, so that it fits none.
struct chunk_rows_view {
  const int* before;
  int rows;

  __device__ bool is_long(int r) const { return before[r + 1] - before[r] > csr5_slots; }
  /// Rows from..end-1 fit in a tile.
  __device__ int end_of(int from) const {
    int end = from;
    for (int step = 32; step >= 1; step /= 32) {
      const int probe = end + (lane_id() + 1) * step;
      const bool fits = probe <= rows && before[min(probe, rows)] - before[from] <= csr5_slots;
      end += step * __popc(__ballot_sync(full_warp, fits));
    }
    return end;
  }
};

struct csr5_arrays {
  csr5_group* group;
  std::int32_t* group_of;
  index_t* first_row;
};

/// A warp counts, and with `out` describes, the tiles of a chunk whose first row is `first`. `at`: counts before the
/// chunk.
template <class O>
__device__ csr5_totals walk_tiles(const chunk_rows_view& chunk, const O* rowptr, index_t first, int group_tiles,
                                  csr5_totals at, const csr5_arrays* out) {
  for (int r = 0; r < chunk.rows;) {
    const index_t row = first + r;
    if (!chunk.is_long(r)) {
      if (out != nullptr && lane_id() == 0) out->first_row[at.tiles] = row;
      ++at.tiles;
      r = chunk.end_of(r);
      continue;
    }
    const std::int64_t length = std::int64_t{rowptr[row + 1]} - rowptr[row];
    const auto tiles = static_cast<std::int32_t>((length + csr5_slots - 1) / csr5_slots);
    const std::int32_t groups = (tiles + group_tiles - 1) / group_tiles;
    const auto first_group = static_cast<std::int32_t>(at.groups);
    for (std::int32_t g = lane_id(); g < groups && out != nullptr; g += 32) {
      const std::int32_t done = g * group_tiles;
      const csr5_group group{row, static_cast<std::int32_t>(at.long_tiles) + done, min(group_tiles, tiles - done),
                             first_group, first_group + groups - 1};
      out->group[first_group + g] = group;
      for (std::int32_t i = 0; i < group.tiles; ++i) out->group_of[group.first_tile + i] = first_group + g;
    }
    at.groups += groups;
    at.long_tiles += tiles;
    ++r;
  }
  return at;
}

/// Without `describe`, totals[c] becomes the counts of chunk c. With it, totals[c] has the counts before chunk c, and
/// `out` is written.
template <class O>
__global__ void __launch_bounds__(threads) plan_tiles(index_t rows, const O* rowptr, int chunk_rows, int group_tiles,
                                                      csr5_totals* totals, bool describe, csr5_arrays out) {
  using adder = cub::BlockScan<int, threads>;
  __shared__ typename adder::TempStorage shared;
  __shared__ int before[csr5_build_policy::most_chunk_rows + 1];
  const std::int64_t first = std::int64_t{blockIdx.x} * chunk_rows;
  const int in_chunk = static_cast<int>(min(std::int64_t{chunk_rows}, rows - first));
  int sum = 0;
  constexpr int batch = 4;  // rows per thread
  for (int begin = 0; begin < in_chunk; begin += batch * threads) {
    int slots[batch], at[batch], all;
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      const int r = begin + batch * static_cast<int>(threadIdx.x) + i;
      slots[i] = 0;
      if (r >= in_chunk) continue;
      const std::int64_t length = std::int64_t{rowptr[first + r + 1]} - rowptr[first + r];
      slots[i] = static_cast<int>(min(max(length, std::int64_t{1}), std::int64_t{csr5_slots + 1}));
    }
    adder(shared).ExclusiveSum(slots, at, all);
    for (int i = 0; i < batch; ++i) {
      const int r = begin + batch * static_cast<int>(threadIdx.x) + i;
      if (r < in_chunk) before[r] = sum + at[i];
    }
    sum += all;
    __syncthreads();
  }
  if (threadIdx.x == 0) before[in_chunk] = sum;
  if (threadIdx.x >= 32) return;
  __syncwarp();
  const chunk_rows_view chunk{before, in_chunk};
  const auto first_row = static_cast<index_t>(first);
  if (describe) {
    walk_tiles(chunk, rowptr, first_row, group_tiles, totals[blockIdx.x], &out);
  } else {
    const csr5_totals all = walk_tiles(chunk, rowptr, first_row, group_tiles, csr5_totals{}, nullptr);
    if (threadIdx.x == 0) totals[blockIdx.x] = all;
  }
}

/// One block per tile: its first column, and how many the widest tile reads from.
template <class O>
__global__ void __launch_bounds__(threads)
    find_columns_of_tiles(index_t rows, const O* rowptr, const index_t* colind, const csr5_group* groups,
                          const std::int32_t* group_of, std::int32_t long_tiles, const index_t* first_row,
                          index_t* first_column, index_t* widest) {
  __shared__ int whole;  // rows of the tile, without the long ones that follow
  __shared__ index_t low, high;
  if (threadIdx.x == 0) whole = csr5_slots, low = INT32_MAX, high = -1;
  __syncthreads();
  std::int64_t begin, end;
  const auto tile = static_cast<std::int32_t>(blockIdx.x);
  if (tile < long_tiles) {
    const csr5_group group = groups[group_of[tile]];
    begin = rowptr[group.row] + std::int64_t{csr5_slots} * (tile - groups[group.first_group].first_tile);
    end = min(begin + csr5_slots, std::int64_t{rowptr[group.row + 1]});
  } else {
    const std::int32_t t = tile - long_tiles;
    const index_t first = first_row[t];
    const index_t next = blockIdx.x + 1 < gridDim.x ? first_row[t + 1] : rows;
    const int count = min(next - first, csr5_slots);
    for (int r = static_cast<int>(threadIdx.x); r < count; r += threads) {
      if (std::int64_t{rowptr[first + r + 1]} - rowptr[first + r] > csr5_slots) atomicMin(&whole, r);
    }
    __syncthreads();
    begin = rowptr[first];
    end = rowptr[first + min(count, whole)];
  }
  index_t least = INT32_MAX, most = -1;
  for (std::int64_t k = begin + threadIdx.x; k < end; k += threads) {
    const index_t column = colind[k];
    least = min(least, column);
    most = max(most, column);
  }
  least = warp_min(least);
  most = warp_max(most);
  if (lane_id() == 0) {
    atomicMin(&low, least);
    atomicMax(&high, most);
  }
  __syncthreads();
  if (threadIdx.x > 0) return;
  first_column[tile] = high < 0 ? 0 : low;
  if (high >= low) atomicMax(widest, high - low + 1);
}

/// Where columns are stored; nothing where values alone are.
template <class Columns>
struct column_arrays {
  const index_t* first = nullptr;
  typename Columns::low* column = nullptr;
  std::uint8_t* high = nullptr;

  __device__ void put(std::int64_t tile, std::int64_t at, index_t column_of_a, bool live) const {
    index_t c = Columns::empty;
    if (live) c = Columns::from_first ? column_of_a - first[tile] : column_of_a;
    column[at] = static_cast<typename Columns::low>(c);
    if constexpr (Columns::has_high) high[at] = static_cast<std::uint8_t>(c >> 16);
  }
  [[nodiscard]] column_arrays behind(std::int64_t tiles) const {
    const std::int64_t slots = tiles * csr5_slots;
    return {first + tiles, column + slots, high == nullptr ? nullptr : high + slots};
  }
};

/// One block per tile of a long row.
template <class Shape, class T, class O, class Columns>
__global__ void __launch_bounds__(Shape::block)
    fill_long_tiles(csr_view<T, O> a, const csr5_group* groups, const std::int32_t* group_of,
                    column_arrays<Columns> columns, T* values) {
  const std::int64_t tile = blockIdx.x;
  const csr5_group group = groups[group_of[tile]];
  const std::int64_t first = a.rowptr[group.row] + csr5_slots * (tile - groups[group.first_group].first_tile);
  const std::int64_t end = a.rowptr[group.row + 1];
  for (int i = 0; i < Shape::items; ++i) {
    const int me = static_cast<int>(threadIdx.x);
    const std::int64_t k = first + Shape::items * me + i;
    values[tile * csr5_slots + Shape::place(me, i, csr5_values_together<T>)] = k < end ? a.values[k] : T{0};
    if (columns.column == nullptr) continue;
    columns.put(tile, tile * csr5_slots + Shape::place(me, i, Columns::template together<Shape>),
                k < end ? a.colind[k] : 0, k < end);
  }
}

/// One block per tile of whole rows. Fills only the values if there are no columns.
template <class Shape, class T, class O, class Columns>
__global__ void __launch_bounds__(Shape::block)
    fill_tiles(csr_view<T, O> a, const index_t* first_row, typename Shape::head* heads, column_arrays<Columns> columns,
               T* values) {
  using scanner = cub::BlockScan<int, Shape::block>;
  constexpr int items = Shape::items;
  __shared__ typename scanner::TempStorage shared;
  __shared__ int start[csr5_slots];  // first slot of each row of the tile
  __shared__ int owner[csr5_slots];  // row of each slot
  const int me = static_cast<int>(threadIdx.x);
  const O* const rowptr = a.rowptr + first_row[blockIdx.x];
  const index_t end = blockIdx.x + 1 < gridDim.x ? first_row[blockIdx.x + 1] : a.rows;
  const int rows = end - first_row[blockIdx.x];  // with the long rows that follow the tile
  const auto length_of = [&](int r) {
    return static_cast<int>(min(std::int64_t{rowptr[r + 1]} - rowptr[r], std::int64_t{csr5_slots + 1}));
  };

  int slots[items], at[items], row[items];
  for (int i = 0; i < items; ++i) {
    const int r = items * me + i;
    const int length = r < rows ? length_of(r) : csr5_slots + 1;
    slots[i] = length > csr5_slots ? 0 : max(length, 1);
    owner[r] = 0;
  }
  scanner(shared).ExclusiveSum(slots, at);
  __syncthreads();
  for (int i = 0; i < items; ++i) {
    const int r = items * me + i;
    if (slots[i] > 0) start[r] = at[i], owner[at[i]] = r;
  }
  __syncthreads();
  for (int i = 0; i < items; ++i) row[i] = owner[items * me + i];
  scanner(shared).InclusiveScan(row, row, ::cuda::maximum<int>{});

  const std::int64_t base = std::int64_t{blockIdx.x} * csr5_slots;
  unsigned ends = 0;
  bool begins_empty = false;  // behind the last row
  for (int i = 0; i < items; ++i) {
    const int offset = items * me + i - start[row[i]];
    const int length = length_of(row[i]);
    const bool live = offset < length;
    if (i == 0) begins_empty = offset >= max(length, 1);
    const std::int64_t k = std::int64_t{rowptr[row[i]]} + offset;
    values[base + Shape::place(me, i, csr5_values_together<T>)] = live ? a.values[k] : T{0};
    if (columns.column == nullptr) continue;
    columns.put(blockIdx.x, base + Shape::place(me, i, Columns::template together<Shape>), live ? a.colind[k] : 0,
                live);
    if (offset == max(length, 1) - 1) ends |= 1u << i;
  }
  if (columns.column != nullptr)
    heads[std::int64_t{blockIdx.x} * Shape::block + me] =
        static_cast<typename Shape::head>(static_cast<unsigned>(row[0] + (begins_empty ? 1 : 0)) << items | ends);
}

template <class Shape, class... Parameters, class... Args>
void launch_tiles(const context& ctx, void (*kernel)(Parameters...), std::size_t tiles, const Args&... args) {
  launch("csr5.fill", kernel, {static_cast<std::int64_t>(tiles), Shape::block}, native(ctx), args...);
}

}  // namespace

template <scalar T, offset O>
csr5_tiles::csr5_tiles(const context& ctx, csr_view<T, O> a) {
  widest = a.cols;
  if (a.rows == 0) return;
  const device_guard guard(ctx.device());
  const int chunk_rows = chunk_rows_for(a.rows, a.nnz);
  const std::int64_t chunks = ceil_div(a.rows, chunk_rows);
  buffer<csr5_totals> totals(ctx, static_cast<std::size_t>(chunks) + 1);
  const auto plan = [&](bool describe, const csr5_arrays& out) {
    launch("csr5.plan_tiles", plan_tiles<O>, {chunks, threads}, native(ctx), a.rows, a.rowptr, chunk_rows,
           csr5_build_policy::group_tiles(a.nnz), totals.data(), describe, out);
  };
  plan(false, {});
  const csr5_totals all = place_records(ctx, totals);
  if (all.tiles + all.long_tiles > std::numeric_limits<std::int32_t>::max()) {
    throw error(status::unsupported, "csr5: the matrix has more than 2^31 tiles");
  }
  long_tiles = static_cast<std::int32_t>(all.long_tiles);
  group = buffer<csr5_group>(ctx, static_cast<std::size_t>(all.groups));
  group_of = buffer<std::int32_t>(ctx, static_cast<std::size_t>(all.long_tiles));
  first_row = buffer<index_t>(ctx, static_cast<std::size_t>(all.tiles));
  plan(true, {group.data(), group_of.data(), first_row.data()});
  if (csr5_build_policy::counts_from_first(a.nnz, a.cols)) {
    find_columns(ctx, a);
  } else {
    first_column = buffer<index_t>(ctx, static_cast<std::size_t>(all.tiles + all.long_tiles));
    fill_bytes(ctx, first_column.data(), memory_space::device, 0, first_column.bytes());
  }
}

template <scalar T, offset O>
void csr5_tiles::find_columns(const context& ctx, csr_view<T, O> a) {
  const std::size_t tiles = static_cast<std::size_t>(long_tiles) + first_row.size();
  buffer<index_t> widest_of_all = device_value<index_t>(ctx);
  first_column = buffer<index_t>(ctx, tiles);
  launch("csr5.find_columns", find_columns_of_tiles<O>, {static_cast<std::int64_t>(tiles), threads}, native(ctx),
         a.rows, a.rowptr, a.colind, group.data(), group_of.data(), long_tiles, first_row.data(), first_column.data(),
         widest_of_all.data());
  widest = read_back(ctx, widest_of_all.data());
}

template <class Shape, class Columns>
template <scalar T, offset O>
csr5_storage<Shape, Columns>::csr5_storage(const context& ctx, csr_view<T, O> a, csr5_tiles tiles, buffer<T>& values)
    : tiles_(std::move(tiles)) {
  const device_guard guard(ctx.device());
  const std::size_t whole = tiles_.first_row.size(), of_long = tiles_.group_of.size();
  const std::size_t slots = (whole + of_long) * csr5_slots;
  head_ = buffer<typename Shape::head>(ctx, whole * Shape::block);
  column_ = buffer<typename Columns::low>(ctx, slots);
  if (Columns::has_high) high_ = buffer<std::uint8_t>(ctx, slots);
  values = buffer<T>(ctx, slots);
  const column_arrays<Columns> columns{tiles_.first_column.data(), column_.data(), high_.data()};
  launch_tiles<Shape>(ctx, fill_long_tiles<Shape, T, O, Columns>, of_long, a, tiles_.group.data(),
                      tiles_.group_of.data(), columns, values.data());
  launch_tiles<Shape>(ctx, fill_tiles<Shape, T, O, Columns>, whole, a, tiles_.first_row.data(), head_.data(),
                      columns.behind(tiles_.long_tiles), values.data() + of_long * csr5_slots);
}

template <class Shape, class Columns>
template <scalar T, offset O>
void csr5_storage<Shape, Columns>::fill_values(const context& ctx, csr_view<T, O> a, buffer<T>& values) const {
  const device_guard guard(ctx.device());
  constexpr column_arrays<Columns> no_columns;
  launch_tiles<Shape>(ctx, fill_long_tiles<Shape, T, O, Columns>, tiles_.group_of.size(), a, tiles_.group.data(),
                      tiles_.group_of.data(), no_columns, values.data());
  launch_tiles<Shape>(ctx, fill_tiles<Shape, T, O, Columns>, tiles_.first_row.size(), a, tiles_.first_row.data(),
                      nullptr, no_columns, values.data() + tiles_.group_of.size() * csr5_slots);
}

#define TULLE_INSTANTIATE(ITEMS, BYTES, T, O)                                                                     \
  template csr5_storage<csr5_shape<ITEMS>, csr5_columns<BYTES>>::csr5_storage(const context&, csr_view<T, O>,     \
                                                                              csr5_tiles, buffer<T>&);            \
  template void csr5_storage<csr5_shape<ITEMS>, csr5_columns<BYTES>>::fill_values(const context&, csr_view<T, O>, \
                                                                                  buffer<T>&) const;
#define TULLE_INSTANTIATE_BYTES(T, O) \
  TULLE_INSTANTIATE(4, 2, T, O)       \
  TULLE_INSTANTIATE(4, 3, T, O)       \
  TULLE_INSTANTIATE(4, 4, T, O)       \
  TULLE_INSTANTIATE(8, 2, T, O)       \
  TULLE_INSTANTIATE(8, 3, T, O)       \
  TULLE_INSTANTIATE(8, 4, T, O)       \
  template csr5_tiles::csr5_tiles(const context&, csr_view<T, O>);
TULLE_INSTANTIATE_BYTES(float, std::int32_t)
TULLE_INSTANTIATE_BYTES(float, std::int64_t)
TULLE_INSTANTIATE_BYTES(double, std::int32_t)
TULLE_INSTANTIATE_BYTES(double, std::int64_t)
#undef TULLE_INSTANTIATE_BYTES
#undef TULLE_INSTANTIATE

}  // namespace tulle::cuda
