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

/// One block per tile of a long row.
template <class Shape, class T, class O, class Column>
__global__ void __launch_bounds__(Shape::block)
    fill_long_tiles(csr_view<T, O> a, const csr5_group* groups, const std::int32_t* group_of, Column* columns,
                    T* values) {
  const std::int64_t tile = blockIdx.x;
  const csr5_group group = groups[group_of[tile]];
  const std::int64_t first = a.rowptr[group.row] + csr5_slots * (tile - groups[group.first_group].first_tile);
  const std::int64_t end = a.rowptr[group.row + 1];
  for (int i = 0; i < Shape::items; ++i) {
    const int me = static_cast<int>(threadIdx.x);
    const std::int64_t k = first + Shape::items * me + i;
    values[tile * csr5_slots + Shape::place(me, i, csr5_values_together<T>)] = k < end ? a.values[k] : T{0};
    if (columns != nullptr)
      columns[tile * csr5_slots + Shape::place(me, i, csr5_columns_together)] =
          k < end ? static_cast<Column>(a.colind[k]) : csr5_empty<Column>;
  }
}

/// One block per tile of whole rows. Fills only the values if `heads` and `columns` are null.
template <class Shape, class T, class O, class Column>
__global__ void __launch_bounds__(Shape::block)
    fill_tiles(csr_view<T, O> a, const index_t* first_row, typename Shape::head* heads, Column* columns, T* values) {
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
  for (int i = 0; i < items; ++i) {
    const int offset = items * me + i - start[row[i]];
    const int length = length_of(row[i]);
    const bool live = offset < length;
    const std::int64_t k = std::int64_t{rowptr[row[i]]} + offset;
    values[base + Shape::place(me, i, csr5_values_together<T>)] = live ? a.values[k] : T{0};
    if (columns == nullptr) continue;
    columns[base + Shape::place(me, i, csr5_columns_together)] =
        live ? static_cast<Column>(a.colind[k]) : csr5_empty<Column>;
    if (offset == max(length, 1) - 1) ends |= 1u << i;
  }
  if (columns != nullptr)
    heads[std::int64_t{blockIdx.x} * Shape::block + me] =
        static_cast<typename Shape::head>(static_cast<unsigned>(row[0]) << items | ends);
}

template <class Shape, class... Parameters, class... Args>
void launch_tiles(const context& ctx, void (*kernel)(Parameters...), std::size_t tiles, const Args&... args) {
  launch("csr5.fill", kernel, {static_cast<std::int64_t>(tiles), Shape::block}, native(ctx), args...);
}

}  // namespace

template <class Shape, class Column>
template <scalar T, offset O>
csr5_storage<Shape, Column>::csr5_storage(const context& ctx, csr_view<T, O> a, buffer<T>& values) {
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
  const auto tiles = static_cast<std::size_t>(all.tiles), long_tiles = static_cast<std::size_t>(all.long_tiles);
  long_tiles_ = static_cast<std::int32_t>(long_tiles);
  group_ = buffer<csr5_group>(ctx, static_cast<std::size_t>(all.groups));
  group_of_ = buffer<std::int32_t>(ctx, long_tiles);
  first_row_ = buffer<index_t>(ctx, tiles);
  head_ = buffer<typename Shape::head>(ctx, tiles * Shape::block);
  column_ = buffer<Column>(ctx, (tiles + long_tiles) * csr5_slots);
  values = buffer<T>(ctx, (tiles + long_tiles) * csr5_slots);
  plan(true, {group_.data(), group_of_.data(), first_row_.data()});
  const std::size_t after = long_tiles * csr5_slots;
  launch_tiles<Shape>(ctx, fill_long_tiles<Shape, T, O, Column>, long_tiles, a, group_.data(), group_of_.data(),
                      column_.data(), values.data());
  launch_tiles<Shape>(ctx, fill_tiles<Shape, T, O, Column>, tiles, a, first_row_.data(), head_.data(),
                      column_.data() + after, values.data() + after);
}

template <class Shape, class Column>
template <scalar T, offset O>
void csr5_storage<Shape, Column>::fill_values(const context& ctx, csr_view<T, O> a, buffer<T>& values) const {
  const device_guard guard(ctx.device());
  constexpr Column* no_columns = nullptr;
  launch_tiles<Shape>(ctx, fill_long_tiles<Shape, T, O, Column>, group_of_.size(), a, group_.data(), group_of_.data(),
                      no_columns, values.data());
  launch_tiles<Shape>(ctx, fill_tiles<Shape, T, O, Column>, first_row_.size(), a, first_row_.data(), nullptr,
                      no_columns, values.data() + group_of_.size() * csr5_slots);
}

#define TULLE_INSTANTIATE(ITEMS, COLUMN, T, O)                                                                \
  template csr5_storage<csr5_shape<ITEMS>, COLUMN>::csr5_storage(const context&, csr_view<T, O>, buffer<T>&); \
  template void csr5_storage<csr5_shape<ITEMS>, COLUMN>::fill_values(const context&, csr_view<T, O>, buffer<T>&) const;
#define TULLE_INSTANTIATE_TYPES(ITEMS, COLUMN)           \
  TULLE_INSTANTIATE(ITEMS, COLUMN, float, std::int32_t)  \
  TULLE_INSTANTIATE(ITEMS, COLUMN, float, std::int64_t)  \
  TULLE_INSTANTIATE(ITEMS, COLUMN, double, std::int32_t) \
  TULLE_INSTANTIATE(ITEMS, COLUMN, double, std::int64_t)
TULLE_INSTANTIATE_TYPES(4, std::uint16_t)
TULLE_INSTANTIATE_TYPES(4, index_t)
TULLE_INSTANTIATE_TYPES(8, std::uint16_t)
TULLE_INSTANTIATE_TYPES(8, index_t)
#undef TULLE_INSTANTIATE_TYPES
#undef TULLE_INSTANTIATE

}  // namespace tulle::cuda
