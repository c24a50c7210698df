// csr5: CSR5 (Liu and Vinter, ICS 2015) with tiles that end where rows end; csr5_format.cuh says how it is stored. One block
// a tile, one thread four or eight neighbouring entries: it adds up what of its rows it holds, a segmented scan over its
// warp and a look at the warps before bring what they hold of the first row that it ends. All that a thread reads of the
// matrix lies where its number says, so that only x waits for another read. A row longer than a tile: shared_parts.cuh.
// Bytes a nonzero: sizeof(T) + 4 (2 where there are at most 65535 columns) + 1/2, and as much for every empty slot: one an
// empty row, half a row on average a tile of 1024, up to a half of all where rows have 513 to 1024 entries. One y a row.
// Chosen where reads that wait for reads cost more than bytes: below two and a half million nonzeros, and beyond where
// row lengths differ or rows are short.
#include "cuda/device/load.cuh"
#include "cuda/device/warp.cuh"
#include "cuda/spmv/csr5_build.hpp"
#include "cuda/spmv/csr_operator.cuh"
#include "cuda/spmv/shared_parts.cuh"
#include "cuda/spmv/shared_rows.cuh"

namespace tulle::cuda {
namespace {

template <class Shape, class T, class Column>
struct thread_entries {
  Column column[Shape::items];
  T value[Shape::items];

  __device__ __forceinline__ thread_entries(const csr5_view<Shape, T, Column>& a, std::int64_t tile) {
    const std::int64_t base = tile * csr5_slots;
    const int me = static_cast<int>(threadIdx.x);
    constexpr int columns = csr5_columns_together, values = csr5_values_together<T>;
#pragma unroll
    for (int i = 0; i < Shape::items; i += columns) {
      load_stream(a.column + base + Shape::place(me, i, columns), reinterpret_cast<Column(&)[columns]>(column[i]));
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
    for (int i = 0; i < Shape::items; ++i) gathered[i] = column[i] != csr5_empty<Column> ? __ldg(x + column[i]) : T{0};
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

/// What the warps of a block tell each other.
template <class T, int Warps>
struct warp_tails {
  T open[Warps];  // of the row that is open at the warp's end
  bool ends_rows[Warps];

  /// Of the row that is open at the end of warp `w` - 1.
  __device__ __forceinline__ T open_before(int w) const {
    T sum{0};
    for (int q = w - 1; q >= 0; --q) {
      sum += open[q];
      if (ends_rows[q]) break;
    }
    return sum;
  }
};

/// The tiles of a group, one after another.
template <class Shape, class T, class Column, class Epilogue>
__device__ __forceinline__ void sum_group(const csr5_view<Shape, T, Column>& a, const T* __restrict__ x,
                                          shared_parts<T> parts, Epilogue& epilogue) {
  const csr5_group group = a.group[blockIdx.x];
  T sum{0};
#pragma unroll 2
  for (std::int32_t i = 0; i < group.tiles; ++i) {
    thread_entries<Shape, T, Column> entries(a, group.first_tile + i);
    entries.multiply(x);
    sum += entries.sum();
  }
  sum = sum_over_block<Shape::block>(sum);
  if (group.first_group == group.last_group) {
    if (threadIdx.x == 0) epilogue(group.row, sum);
  } else if (threadIdx.x < 32) {
    leave_part(parts, sum, group.row, {group.first_group, group.last_group}, blockIdx.x, epilogue);
  }
}

/// A tile of whole rows.
template <class Shape, class T, class Column, class Epilogue>
__device__ __forceinline__ void sum_rows(const csr5_view<Shape, T, Column>& a, const T* __restrict__ x,
                                         Epilogue& epilogue) {
  __shared__ warp_tails<T, Shape::block / 32> tails;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int warp = static_cast<int>(threadIdx.x / 32);
  const std::int64_t tile = std::int64_t{blockIdx.x} - a.groups;
  thread_entries<Shape, T, Column> entries(a, tile + a.long_tiles);
  const unsigned head = __ldg(a.head + tile * Shape::block + threadIdx.x);
  const index_t first_row = __ldg(a.first_row + tile);
  entries.multiply(x);

  index_t row = first_row + static_cast<index_t>(head >> Shape::items);
  const index_t first_end = row;  // the row that the thread ends first, if it ends one
  const bool ends_row = head % (1u << Shape::items) != 0;
  T open{0}, first_sum{0};
  bool first = true;
#pragma unroll
  for (int i = 0; i < Shape::items; ++i) {
    open += entries.value[i];
    if ((head >> i & 1) == 0) continue;
    if (first)
      first_sum = open;
    else
      epilogue(row, open);
    first = false;
    ++row;
    open = T{0};
  }
  // Of the row that is open at a lane's end, what the lanes since the last end of a row hold.
  const unsigned ending = __ballot_sync(full_warp, ends_row);
  const int since = max(0, 31 - __clz(static_cast<int>(ending & (full_warp >> (31 - lane)))));
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const T before = __shfl_up_sync(full_warp, open, d);
    if (lane - d >= since) open += before;
  }
  T carried = __shfl_up_sync(full_warp, open, 1);
  if (lane == 0) carried = T{0};
  if (lane == 31) {
    tails.open[warp] = open;
    tails.ends_rows[warp] = ending != 0;
  }
  __syncthreads();
  if (ends_row) {
    if ((ending & ((1u << lane) - 1)) == 0) carried += tails.open_before(warp);  // the row began in an earlier warp
    epilogue(first_end, carried + first_sum);
  }
}

template <class Shape, class T, class Column, class Epilogue>
__global__ void __launch_bounds__(Shape::block, 2048 / Shape::block / (Shape::items / 4))
    csr5_kernel(csr5_view<Shape, T, Column> a, const T* __restrict__ x, shared_parts<T> parts, Epilogue epilogue) {
  if (static_cast<std::int32_t>(blockIdx.x) < a.groups)
    sum_group(a, x, parts, epilogue);
  else
    sum_rows(a, x, epilogue);
  epilogue.finish();
}

template <class Shape, class T, class O, class Column>
class csr5_operator final : public csr_operator<T, O> {
 public:
  csr5_operator(const context& ctx, csr_view<T, O> a)
      : csr_operator<T, O>(ctx, a, Shape::block), ctx_(ctx), storage_(ctx, a, values_) {
    const auto groups = static_cast<std::size_t>(storage_.groups()),
               blocks = static_cast<std::size_t>(storage_.blocks());
    part_ = buffer<T>(ctx, 2 * groups);
    arrived_ = buffer<unsigned>(ctx, groups + 1);
    dot_share_ = buffer<T>(ctx, 2 * (blocks + groups));
    fill_bytes(ctx, arrived_.data(), memory_space::device, 0, arrived_.bytes());
    fill_bytes(ctx, dot_share_.data(), memory_space::device, 0, dot_share_.bytes());
  }
  void update_values(const csr_ref& a) override {
    csr_operator<T, O>::update_values(a);
    storage_.fill_values(ctx_, this->a_, values_);
  }
  void apply_dots(double alpha, const void* x, double beta, void* y, const void* w, void* dots,
                  stream_view stream) override {
    const device_guard guard(this->device_);
    const auto on = native(stream);
    if (storage_.blocks() == 0) check(cudaMemsetAsync(dots, 0, 2 * sizeof(T), on), "cudaMemsetAsync");
    start(store_with_dots<T>{{static_cast<T>(alpha), static_cast<T>(beta), static_cast<T*>(y)},
                             static_cast<const T*>(w),
                             static_cast<T*>(dots),
                             {dot_share_.data(), arrived_.data() + storage_.groups(), storage_.groups()}},
          static_cast<const T*>(x), on);
  }
  void apply_jacobi(double omega, const void* x, const void* b, const void* inverse_diagonal, void* y,
                    stream_view stream) override {
    const device_guard guard(this->device_);
    start(jacobi_step<T>{static_cast<T>(omega), static_cast<const T*>(x), static_cast<const T*>(b),
                         static_cast<const T*>(inverse_diagonal), static_cast<T*>(y)},
          static_cast<const T*>(x), native(stream));
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return matrix_bytes() + storage_.other_bytes() + part_.bytes() + arrived_.bytes() + dot_share_.bytes();
  }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override { return storage_.bytes() + values_.bytes(); }
  [[nodiscard]] std::string parameters() const override {
    return device_operator<T>::parameters() + " blocks=" + std::to_string(storage_.blocks()) +
           " column_bytes=" + std::to_string(sizeof(Column));
  }

 private:
  void run(scale_and_store<T> store, const T* x, cudaStream_t stream) override { start(store, x, stream); }

  template <class Epilogue>
  void start(const Epilogue& epilogue, const T* x, cudaStream_t stream) {
    launch("csr5", csr5_kernel<Shape, T, Column, Epilogue>, {storage_.blocks(), Shape::block}, stream, storage_.view(values_), x, shared_parts<T>{part_.data(), arrived_.data()}, epilogue);
  }

  context ctx_;
  buffer<T> values_;  // before storage_, which fills it
  csr5_storage<Shape, Column> storage_;
  buffer<T> part_;
  buffer<unsigned> arrived_;
  buffer<T> dot_share_;
};

/// Four entries a thread fill the device sooner and suit short rows; eight pay in long rows where there are enough of
/// them.
bool takes_eight(const csr_stats& s, const spmv_options& o) {
  if (o.block_size > 0) return o.block_size < csr5_shape<4>::block;
  return s.nnz >= 1'000'000 && s.mean >= 8;
}

template <class Shape>
std::unique_ptr<spmv_operator> make_with(const context& ctx, const csr_ref& a) {
  return dispatch<type_set::floating>(a.types, [&]<class T, class O>() -> std::unique_ptr<spmv_operator> {
    if (a.cols <= csr5_empty<std::uint16_t>)
      return std::make_unique<csr5_operator<Shape, T, O, std::uint16_t>>(ctx, a.as<T, O>());
    return std::make_unique<csr5_operator<Shape, T, O, index_t>>(ctx, a.as<T, O>());
  });
}

}  // namespace

std::unique_ptr<spmv_operator> make_csr5(const context& ctx, const csr_ref& a, const csr_stats& s,
                                         const spmv_options& o) {
  return takes_eight(s, o) ? make_with<csr5_shape<8>>(ctx, a) : make_with<csr5_shape<4>>(ctx, a);
}

}  // namespace tulle::cuda
