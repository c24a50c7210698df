// csr5: CSR5 (Liu and Vinter, ICS 2015) with tiles that end where rows end; csr5_format.cuh says how it is stored. One
// block per tile; a thread sums its four or eight neighbouring entries by row, and a segmented scan over the warp and a
// look at the warps before complete the first row that it ends; of many short rows of f64 a lane stores others than it
// summed. Everything that a thread reads of the matrix lies at a place known from its number, so that only the reads of
// x wait for other reads. Rows longer than a tile: shared_parts.cuh. Bytes per nonzero: sizeof(T) + 2, 3 or 4 (up to
// 65,535 or 16,777,215 columns in the widest tile, or more) + 1/2, and the same for every empty slot: one per empty
// row, half a row on average per tile of 1024, up to half of all where rows have 513 to 1024 entries; plus one y per
// row. Chosen below half a million nonzeros, and above where it is predicted to be the fastest
// (plan/spmv_terms_cuda.hpp): where row lengths differ, rows are short, or x is read from all over L2.
#include "cuda/device/load.cuh"
#include "cuda/device/warp.cuh"
#include "cuda/spmv/csr5_build.hpp"
#include "cuda/spmv/fused_operator.cuh"
#include "cuda/spmv/shared_parts.cuh"
#include "cuda/spmv/shared_rows.cuh"

namespace tulle::cuda {
namespace {

template <class Shape, class T, class Columns>
struct thread_entries {
  typename Columns::whole column[Shape::items];
  T value[Shape::items];
  index_t first = 0;

  __device__ __forceinline__ thread_entries(const csr5_view<Shape, T, Columns>& a, std::int64_t tile) {
    const std::int64_t base = tile * csr5_slots;
    const int me = static_cast<int>(threadIdx.x);
    if constexpr (Columns::from_first) first = __ldg(a.first_column + tile);
    constexpr int columns = Columns::template together<Shape>, values = csr5_values_together<T>;
#pragma unroll
    for (int i = 0; i < Shape::items; i += columns) {
      const std::int64_t at = base + Shape::place(me, i, columns);
      typename Columns::low low[columns];
      load_stream(a.column + at, low);
      std::uint8_t high[columns] = {};
      if constexpr (Columns::has_high) load_stream(a.high + at, high);
#pragma unroll
      for (int c = 0; c < columns; ++c) {
        column[i + c] = static_cast<typename Columns::whole>(low[c] | static_cast<index_t>(high[c]) << 16);
      }
    }
#pragma unroll
    for (int i = 0; i < Shape::items; i += values) {
      load_stream(a.value + base + Shape::place(me, i, values), reinterpret_cast<T(&)[values]>(value[i]));
    }
  }
  /// value[i] becomes the product.
  __device__ __forceinline__ void multiply(const T* __restrict__ x) {
    T gathered[Shape::items];
#pragma unroll
    for (int i = 0; i < Shape::items; ++i) {
      gathered[i] = column[i] != Columns::empty ? __ldg(x + first + column[i]) : T{0};
    }
#pragma unroll
    for (int i = 0; i < Shape::items; ++i) value[i] *= gathered[i];
  }
  __device__ __forceinline__ T sum() const {
    T sum{0};
#pragma unroll
    for (int i = 0; i < Shape::items; i += 4) sum += (value[i] + value[i + 1]) + (value[i + 2] + value[i + 3]);
    return sum;
  }
};

/// What the warps of a block leave for the warps after them.
template <class T, int Warps>
struct warp_tails {
  T open[Warps];  // sum of the row that goes on after the warp
  bool ends_rows[Warps];

  /// Sum so far of the row that goes on after warp w - 1.
  __device__ __forceinline__ T open_before(int w) const {
    T sum{0};
    for (int q = w - 1; q >= 0; --q) {
      sum += open[q];
      if (ends_rows[q]) break;
    }
    return sum;
  }
};

template <class Epilogue>
constexpr bool sums_dots = requires(Epilogue e) {
  e.await_share();
};

/// The tiles of a group of a long row, one after another.
template <class Shape, class T, class Columns, class Epilogue>
__device__ __forceinline__ void sum_group(const csr5_view<Shape, T, Columns>& a, const T* __restrict__ x,
                                          shared_parts<T> parts, Epilogue& epilogue) {
  const csr5_group group = a.group[blockIdx.x];
  T sum{0};
#pragma unroll 2
  for (std::int32_t i = 0; i < group.tiles; ++i) {
    thread_entries<Shape, T, Columns> entries(a, group.first_tile + i);
    entries.multiply(x);
    sum += entries.sum();
  }
  sum = sum_over_block<Shape::block>(sum);
  if (group.first_group == group.last_group) {
    if (threadIdx.x == 0) epilogue(group.row, sum);
    return;
  }
  if constexpr (sums_dots<Epilogue>) {
    if (static_cast<std::int32_t>(blockIdx.x) == group.first_group) epilogue.await_share();
  }
  if (threadIdx.x < 32) {
    leave_part(parts, sum, group.row, {group.first_group, group.last_group}, blockIdx.x, epilogue);
  }
}

/// The sum of the row that goes on after each lane, from the last lane on that ends a row; `ending`: which lanes do.
template <class T>
__device__ __forceinline__ T scan_open(T open, unsigned ending) {
  const int lane = lane_id();
  const int since = max(0, 31 - __clz(static_cast<int>(ending & (full_warp >> (31 - lane)))));
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const T before = __shfl_up_sync(full_warp, open, d);
    if (lane - d >= since) open += before;
  }
  return open;
}

/// The sums of a warp's rows but the first, until all are there and lanes store neighbours: where most lanes end
/// several rows, a store of one by each lane writes a part of many sectors of y, and each sector is written again.
template <class Shape, class T>
class rows_side_by_side {
 public:
  /// `first_row`: of a lane.
  __device__ __forceinline__ explicit rows_side_by_side(index_t first_row)
      : first_row_(__shfl_sync(full_warp, first_row, 0)) {
    __shared__ T sums[csr5_slots];
    sum_of_ = sums + threadIdx.x / 32 * (32 * Shape::items);
  }
  __device__ __forceinline__ void keep(index_t row, T sum) { sum_of_[row - first_row_] = sum; }
  /// `end`: behind the last row that a lane ends.
  template <class Epilogue>
  __device__ __forceinline__ void store(index_t end, Epilogue& epilogue) {
    const index_t rows = __shfl_sync(full_warp, end, 31) - first_row_;
    __syncwarp();
    for (index_t r = 1 + lane_id(); r < rows; r += 32) epilogue(first_row_ + r, sum_of_[r]);
  }

 private:
  index_t first_row_;
  T* sum_of_;
};
struct rows_one_by_one {
  __device__ __forceinline__ explicit rows_one_by_one(index_t /*first_row*/) {}
};

/// A tile of whole rows: those that begin in a lane as they end, its first one last.
template <bool SideBySide, class Shape, class T, class Columns, class Epilogue>
__device__ __forceinline__ void sum_rows(const csr5_view<Shape, T, Columns>& a, const T* __restrict__ x,
                                         Epilogue& epilogue) {
  __shared__ warp_tails<T, Shape::block / 32> tails;
  const int lane = lane_id();
  const int warp = static_cast<int>(threadIdx.x / 32);
  const std::int64_t tile = std::int64_t{blockIdx.x} - a.groups;
  thread_entries<Shape, T, Columns> entries(a, tile + a.long_tiles);
  const unsigned head = __ldg(a.head + tile * Shape::block + threadIdx.x);
  const index_t first_row = __ldg(a.first_row + tile);
  index_t row = first_row + static_cast<index_t>(head >> Shape::items);
  const index_t first_end = row;  // the first row that the thread ends, if any
  const bool ends_row = head % (1u << Shape::items) != 0;
  if (ends_row) epilogue.fetch(first_end);
  entries.multiply(x);

  [[maybe_unused]] std::conditional_t<SideBySide, rows_side_by_side<Shape, T>, rows_one_by_one> rows(row);
  T open{0}, first_sum{0};
  bool first = true;
#pragma unroll
  for (int i = 0; i < Shape::items; ++i) {
    open += entries.value[i];
    if ((head >> i & 1) == 0) continue;
    if (first)
      first_sum = open;
    else if constexpr (SideBySide)
      rows.keep(row, open);
    else
      epilogue(row, open);
    first = false;
    ++row;
    open = T{0};
  }
  const unsigned ending = __ballot_sync(full_warp, ends_row);
  open = scan_open(open, ending);
  T carried = __shfl_up_sync(full_warp, open, 1);
  if (lane == 0) carried = T{0};
  if (lane == 31) {
    tails.open[warp] = open;
    tails.ends_rows[warp] = ending != 0;
  }
  if constexpr (SideBySide) {
    if (ends_row && (ending & lanes_before()) != 0) rows.keep(first_end, carried + first_sum);
    rows.store(row, epilogue);
  }
  __syncthreads();
  if (ends_row && (!SideBySide || (ending & lanes_before()) == 0)) {
    if ((ending & lanes_before()) == 0) carried += tails.open_before(warp);  // the row starts in an earlier warp
    epilogue(first_end, carried + first_sum);
  }
}

/// What the warps of a block leave for its first threads, one of which finishes the first row that each warp ends.
template <class T, class Epilogue, int Warps>
struct warp_rows {
  warp_tails<T, Warps> tails;
  T first[Warps];  // the warp's own part of that row
  typename Epilogue::inputs in[Warps];
  double dots[Warps][2];  // of the other rows
};

/// The same where rows read more than products: several rows' inputs at a time, on their way while sums pass from lane
/// to lane. Behind the barrier the first threads have all that the block leaves.
template <class Shape, class T, class Columns, class Epilogue>
__device__ __forceinline__ void sum_rows_together(const csr5_view<Shape, T, Columns>& a, const T* __restrict__ x,
                                                  Epilogue& epilogue) {
  constexpr int warps = Shape::block / 32;
  __shared__ warp_rows<T, Epilogue, warps> shared;
  const int lane = lane_id();
  const int warp = static_cast<int>(threadIdx.x / 32);
  const std::int64_t tile = std::int64_t{blockIdx.x} - a.groups;
  thread_entries<Shape, T, Columns> entries(a, tile + a.long_tiles);
  const unsigned head = __ldg(a.head + tile * Shape::block + threadIdx.x);
  index_t row = __ldg(a.first_row + tile) + static_cast<index_t>(head >> Shape::items);
  const bool ends_row = head % (1u << Shape::items) != 0;
  entries.multiply(x);

  constexpr int batch = Shape::items / 2;
  typename Epilogue::inputs in[batch];
  const auto read_batch = [&](int begin, index_t from) {
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      if ((head >> (begin + i) & 1) == 0) continue;
      in[i] = epilogue.read(from);
      ++from;
    }
  };
  T open{0};
#pragma unroll
  for (int i = 0; i < Shape::items; ++i) {
    open += entries.value[i];
    entries.value[i] = open;
    if ((head >> i & 1) != 0) open = T{0};
  }
  read_batch(0, row);
  const unsigned ending = __ballot_sync(full_warp, ends_row);
  open = scan_open(open, ending);
  T carried = __shfl_up_sync(full_warp, open, 1);
  if (lane == 0) carried = T{0};
  if (lane == 31) {
    shared.tails.open[warp] = open;
    shared.tails.ends_rows[warp] = ending != 0;
  }
  if (ends_row) {
    bool first = true;
    const bool first_of_warp = (ending & lanes_before()) == 0;
#pragma unroll
    for (int begin = 0; begin < Shape::items; begin += batch) {
      if (begin > 0) read_batch(begin, row);
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        if ((head >> (begin + i) & 1) == 0) continue;
        const T sum = first ? carried + entries.value[begin + i] : entries.value[begin + i];
        if (first && first_of_warp) {
          shared.first[warp] = sum;
          shared.in[warp] = in[i];
        } else {
          epilogue.put(in[i], sum);
        }
        first = false;
        ++row;
      }
    }
  }
  if constexpr (sums_dots<Epilogue>) {
    __syncwarp();
    const double sum = epilogue.take_warp_sum();
    if (lane % 16 == 0) shared.dots[warp][lane / 16] = sum;
  }
  __syncthreads();
  if (threadIdx.x < warps) {
    const int w = static_cast<int>(threadIdx.x);
    if constexpr (sums_dots<Epilogue>) epilogue.wy = shared.dots[w][0], epilogue.yy = shared.dots[w][1];
    if (shared.tails.ends_rows[w]) epilogue.put(shared.in[w], shared.tails.open_before(w) + shared.first[w]);
  }
  __syncwarp();
}

/// Blocks per multiprocessor: 64 registers for eight entries, 32 for four, 40 where sums go along.
template <class Shape, class Epilogue>
constexpr int csr5_resident = Shape::items == 4 && sums_dots<Epilogue> ? 6 : 8;

template <class Shape, class T, class Columns, class Epilogue, bool SideBySide = false>
__global__ void __launch_bounds__(Shape::block, csr5_resident<Shape, Epilogue>)
    csr5_kernel(csr5_view<Shape, T, Columns> a, const T* __restrict__ x, shared_parts<T> parts, Epilogue epilogue) {
  constexpr bool together = Shape::items == 8 && Epilogue::reads_more;
  if (static_cast<std::int32_t>(blockIdx.x) < a.groups)
    sum_group(a, x, parts, epilogue);
  else if constexpr (together)
    sum_rows_together(a, x, epilogue);
  else
    sum_rows<SideBySide>(a, x, epilogue);
  if constexpr (together && sums_dots<Epilogue>)
    epilogue.template finish_of_lanes<Shape::block / 32>();
  else
    epilogue.finish();
}

/// Whether rows are so short, and so many, that they are better stored side by side (docs/notes/0005-csr5.md). In f32
/// that gains nothing.
template <class Shape, class T, class O>
bool stores_side_by_side(const csr_view<T, O>& a) {
  constexpr std::int64_t least_nnz = 3'000'000, longest_mean = 3;
  const auto nnz = static_cast<std::int64_t>(a.nnz);
  return Shape::items == 4 && sizeof(T) == 8 && nnz >= least_nnz && nnz < longest_mean * a.rows;
}

template <class Shape, class T, class O, class Columns>
class csr5_operator final : public fused_operator<csr5_operator<Shape, T, O, Columns>, csr_operator<T, O>> {
  using base = fused_operator<csr5_operator, csr_operator<T, O>>;

 public:
  /// Polling takes registers that the kernel of four entries does not have: what it spilled cost more than a second
  /// kernel.
  static constexpr bool shares_arrive = Shape::items == 8;

  csr5_operator(const context& ctx, csr_view<T, O> a, csr5_tiles tiles)
      : base(ctx, a, Shape::block),
        ctx_(ctx),
        side_by_side_(stores_side_by_side<Shape>(a)),
        storage_(ctx, a, std::move(tiles), values_),
        parts_(ctx, storage_.groups()) {
    this->dots_ = {ctx, blocks(), 0, shares_arrive};
  }
  void update_values(const matrix_ref& a) override {
    base::update_values(a);
    storage_.fill_values(ctx_, this->a_, values_);
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return matrix_bytes() + storage_.other_bytes() + parts_.bytes() + this->dots_.bytes();
  }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override { return storage_.bytes() + values_.bytes(); }
  [[nodiscard]] std::string parameters() const override {
    return base::parameters() + " blocks=" + std::to_string(blocks()) +
           " column_bytes=" + std::to_string(Columns::bytes) + (side_by_side_ ? " rows=side_by_side" : "");
  }

  [[nodiscard]] std::int32_t blocks() const noexcept { return storage_.blocks(); }
  template <class Epilogue>
  void start(const Epilogue& epilogue, const T* x, cudaStream_t stream) {
    auto* kernel = csr5_kernel<Shape, T, Columns, Epilogue>;
    if constexpr (Shape::items == 4 && sizeof(T) == 8 && !Epilogue::reads_more) {
      if (side_by_side_) kernel = csr5_kernel<Shape, T, Columns, Epilogue, true>;
    }
    launch("csr5", kernel, {blocks(), Shape::block}, stream, storage_.view(values_), x, parts_.view(), epilogue);
  }

 private:
  context ctx_;
  bool side_by_side_;
  buffer<T> values_;  // before storage_, which fills it
  csr5_storage<Shape, Columns> storage_;
  part_workspace<T> parts_;
};

/// Four entries per thread fill the device sooner and suit short rows; eight pay in long rows of a large matrix.
struct csr5_policy {
  static constexpr std::int64_t eight_least_nnz = 1'000'000;
  static constexpr double eight_least_mean = 8;
};

bool takes_eight(const csr_stats& s, const spmv_options& o) {
  if (o.block_size > 0) return o.block_size < csr5_shape<4>::block;
  return s.nnz >= csr5_policy::eight_least_nnz && s.mean >= csr5_policy::eight_least_mean;
}

template <class Shape>
std::unique_ptr<spmv_operator> make_with(const context& ctx, const matrix_ref& a) {
  return dispatch<type_set::floating>(a.types, [&]<class T, class O>() -> std::unique_ptr<spmv_operator> {
    const auto view = a.as<T, O>();
    csr5_tiles tiles(ctx, view);
    const auto with = [&]<int Bytes>() -> std::unique_ptr<spmv_operator> {
      return std::make_unique<csr5_operator<Shape, T, O, csr5_columns<Bytes>>>(ctx, view, std::move(tiles));
    };
    if (tiles.widest <= csr5_columns<2>::empty) return with.template operator()<2>();
    if (tiles.widest <= csr5_columns<3>::empty) return with.template operator()<3>();
    return with.template operator()<4>();
  });
}

std::unique_ptr<spmv_operator> make(const context& ctx, const matrix_ref& a, const csr_stats& s,
                                    const spmv_options& o) {
  return takes_eight(s, o) ? make_with<csr5_shape<8>>(ctx, a) : make_with<csr5_shape<4>>(ctx, a);
}

}  // namespace

spmv_kernel csr5_entry() {
  return {
      .name = "csr5",
      .summary = "CSR5 with tiles of whole rows: equal work, and no read but x waits for another",
      .backend = backend_kind::cuda,
      .types = type_set::floating,
      .has = {.many = true, .dots = true, .jacobi = true, .finish = true},
      .listens_to = {.block_size = true},
      .make = make,
  };
}

}  // namespace tulle::cuda
