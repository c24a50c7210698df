// csr.stream: CSR-Stream (Greathouse and Daga, SC 2014) on tiles of equally many nonzeros, in one launch, without set-up.
// A block loads the columns and values of its tile, whose place follows from its number alone, multiplies them by x and
// leaves the products in shared memory; 1 to 32 lanes a row then add them up. One thread: `Items` nonzeros, coalesced
// across the block, then its share of a row. Rows longer than a tile: shared_parts.cuh.
// Bytes a nonzero: sizeof(T) + 4, plus one offset and one y a row, plus 16 bytes a tile. x is gathered once a nonzero.
// Chosen where a plan may cost nothing, and where row lengths vary. Needs no converted copy and no pass over the matrix.
#include <tulle/core/buffer.hpp>

#include "cuda/device/load.cuh"
#include "cuda/spmv/csr_operator.cuh"
#include "cuda/spmv/shared_parts.cuh"
#include "cuda/spmv/shared_rows.cuh"
#include "cuda/spmv/stream_tiles.cuh"

namespace tulle::cuda {
namespace {

/// What was fastest on an NVIDIA H200 (docs/notes/0003-csr-stream.md).
template <class T>
struct stream_policy {
  static constexpr bool values_before_x = sizeof(T) == 8;  // which loads are issued first
  static constexpr int batch = sizeof(T) == 8 ? 2 : 1;
};

template <class T>
struct stream_workspace {
  tile_rows* rows;
  shared_parts<T> parts;
  std::int32_t tiles;
  std::int32_t slices;
};

template <class T, class O, int Block, int Items>
struct stream_block {
  using tiling = nonzero_tiling<Block * Items, Block * Items / 2>;
  static constexpr int most_products = tiling::size + Block;

  using range_of_rows = row_range<Block, most_products, stream_policy<T>::batch, O>;

  const csr_view<T, O>& a;
  const stream_workspace<T>& work;
  const T* __restrict__ x;
  padded_products<T> products;

  __device__ __forceinline__ T product(const index_t* colind, const T* values, int k) const {
    return multiply_add(load_stream(values + k), __ldg(x + load_stream(colind + k)), T{0});
  }

  /// Products first..first+count-1 of the matrix to shared memory.
  __device__ void stage(std::int64_t first, int count) const {
    for (int k = threadIdx.x; k < count; k += Block) products[k] = product(a.colind + first, a.values + first, k);
  }

  template <class Epilogue>
  __device__ __forceinline__ void tile(Epilogue& epilogue) const {
    const std::int64_t tile = blockIdx.x;
    const std::int64_t first = tile * tiling::size;
    const index_t* const colind = a.colind + first;
    const T* const values = a.values + first;
    const int count = static_cast<int>(min(std::int64_t{tiling::size}, static_cast<std::int64_t>(a.nnz) - first));
    const int me = threadIdx.x;

    tile_rows rows = work.rows[tile];
    T value[Items];
    if (count == tiling::size) {
      const int taken = rows.begin < 0 ? 0 : -rows.head;  // x need not be gathered for these
      index_t column[Items];
#pragma unroll
      for (int i = 0; i < Items; ++i) column[i] = load_stream(colind + me + i * Block);
      if constexpr (stream_policy<T>::values_before_x) {
#pragma unroll
        for (int i = 0; i < Items; ++i) value[i] = load_stream(values + me + i * Block);
#pragma unroll
        for (int i = 0; i < Items; ++i) {
          value[i] = me + i * Block >= taken ? multiply_add(value[i], __ldg(x + column[i]), T{0}) : T{0};
        }
      } else {
#pragma unroll
        for (int i = 0; i < Items; ++i) value[i] = me + i * Block >= taken ? __ldg(x + column[i]) : T{0};
#pragma unroll
        for (int i = 0; i < Items; ++i) value[i] = multiply_add(load_stream(values + me + i * Block), value[i], T{0});
      }
    } else {
#pragma unroll
      for (int i = 0; i < Items; ++i) value[i] = me + i * Block < count ? product(colind, values, me + i * Block) : T{0};
    }
    if (rows.begin < 0) {
      rows = tiling::find(a.rowptr, a.rows, tile, work.tiles);
      if (me == 0) work.rows[tile] = rows;
    }

    const bool shares_head = rows.head > 0;
    const bool shares_tail = rows.overhang < 0;
    if (rows.head == tiling::size) {  // one row and nothing else
      const tile_span at = span_of(rows.begin - 1);
      T sum = value[0];
#pragma unroll
      for (int i = 1; i < Items; ++i) sum = add(sum, value[i]);
      sum = sum_over_block<Block>(sum);
      if (me < 32) leave_part(work.parts, sum, rows.begin - 1, at, tile, epilogue);
      if (rows.begin == rows.end) return;
    }
    const index_t end = rows.end - (shares_tail ? 1 : 0);
    const index_t first_slice = rows.begin / tiling::slice + (rows.begin % tiling::slice != 0);
    const index_t past_slices = tile + 1 == work.tiles ? work.slices : (rows.end - 1) / tiling::slice;
    const bool leaves_slices = past_slices > first_slice;
    range_of_rows range(a.rowptr, static_cast<O>(first), rows.begin,
                              leaves_slices ? first_slice * tiling::slice : end);
#pragma unroll
    for (int i = 0; i < Items; ++i) products[me + i * Block] = value[i];
    if (me < rows.overhang) {  // from here on, the sum of every Block-th product
      T sum{0};
      for (int k = tiling::size + me; k < tiling::size + rows.overhang; k += Block) {
        sum = multiply_add(load_stream(values + k), __ldg(x + load_stream(colind + k)), sum);
      }
      products[tiling::size + me] = sum;
    }
    __syncthreads();
    if (shares_head && rows.head < tiling::size && me < 32) {
      const T sum = sum_over_lanes<32>(sum_products(products, me, rows.head, 32));
      leave_part(work.parts, sum, rows.begin - 1, span_of(rows.begin - 1), tile, epilogue);
    }
    if (shares_tail && me >= Block - 32) {
      const int from = static_cast<int>(static_cast<std::int64_t>(a.rowptr[end]) - first);
      const T sum = sum_over_lanes<32>(sum_products(products, from + me % 32, tiling::size, 32));
      leave_part(work.parts, sum, end, span_of(end), tile, epilogue);
    }
    range.sum(products, epilogue);
    if (leaves_slices && static_cast<std::int64_t>(past_slices) * tiling::slice < end) {
      range = {a.rowptr, static_cast<O>(first), past_slices * tiling::slice, end};
      range.sum(products, epilogue);
    }
  }

  /// Rows of a slice that one tile holds whole; else they are that tile's work.
  template <class Epilogue>
  __device__ __forceinline__ void slice(Epilogue& epilogue) const {
    const std::int64_t begin = std::int64_t{blockIdx.x} * tiling::slice;
    const std::int64_t end = begin + tiling::slice;
    const O first = a.rowptr[begin], last = a.rowptr[end];
    if (tiling::tile_of(first, work.tiles) != tiling::tile_of(last, work.tiles)) return;
    const int count = static_cast<int>(last - first);
    range_of_rows range(a.rowptr, first, static_cast<index_t>(begin), static_cast<index_t>(end));
    __syncthreads();
    stage(first, count);
    __syncthreads();
    range.sum(products, epilogue);
  }

 private:
  __device__ __forceinline__ tile_span span_of(index_t row) const {
    return {static_cast<std::int64_t>(a.rowptr[row]) / tiling::size,
            (static_cast<std::int64_t>(a.rowptr[row + 1]) - 1) / tiling::size};
  }
};

template <int Block, int Items, class T, class O, class Epilogue>
__global__ void __launch_bounds__(Block)
    csr_stream_kernel(csr_view<T, O> a, stream_workspace<T> work, const T* __restrict__ x, Epilogue epilogue) {
  using block = stream_block<T, O, Block, Items>;
  __shared__ T products[padded_products<T>::template words<block::most_products>];
  const block self{a, work, x, {products}};
  if (static_cast<int>(blockIdx.x) < work.tiles) self.tile(epilogue);
  if (static_cast<int>(blockIdx.x) < work.slices) self.slice(epilogue);
  epilogue.finish();
}

/// Threads a block and nonzeros a thread.
template <int Block, int Items>
struct stream_shape {
  static constexpr int block = Block;
  static constexpr int items = Items;
  using tiling = nonzero_tiling<Block * Items, Block * Items / 2>;
};

/// Small tiles where large ones would not reach every multiprocessor a few times.
template <class F>
void with_stream_shape(bool small, F&& f) {
  small ? f(stream_shape<128, 4>{}) : f(stream_shape<256, 8>{});
}

template <class T, class O>
class csr_stream final : public csr_operator<T, O> {
 public:
  csr_stream(const context& ctx, csr_view<T, O> a, const csr_stats&, const spmv_options& o)
      : csr_operator<T, O>(ctx, a, 0), small_(is_small(a.nnz, ctx, o)) {
    with_stream_shape(small_, [&](auto shape) {
      using tiling = typename decltype(shape)::tiling;
      this->block_size_ = shape.block;
      tiles_ = static_cast<std::int32_t>(tiling::tiles(a.nnz));
      slices_ = static_cast<std::int32_t>(tiling::slices(a.rows));
    });
    const auto tiles = static_cast<std::size_t>(tiles_);
    rows_ = buffer<tile_rows>(ctx, tiles);
    part_ = buffer<T>(ctx, 2 * tiles);
    arrived_ = buffer<unsigned>(ctx, tiles + 1);
    fill_bytes(ctx, rows_.data(), ctx.space(), 0xff, rows_.bytes());
    fill_bytes(ctx, arrived_.data(), ctx.space(), 0, arrived_.bytes());
    if constexpr (std::is_floating_point_v<T>) {
      dot_share_ = buffer<T>(ctx, 2 * (static_cast<std::size_t>(blocks()) + tiles));
      fill_bytes(ctx, dot_share_.data(), ctx.space(), 0, dot_share_.bytes());
    }
  }

  void apply_dots(double alpha, const void* x, double beta, void* y, const void* w, void* dots,
                  stream_view stream) override {
    if constexpr (std::is_floating_point_v<T>) {
      const device_guard guard(this->device_);
      run_with(store_with_dots<T>{{static_cast<T>(alpha), static_cast<T>(beta), static_cast<T*>(y)},
                                  static_cast<const T*>(w),
                                  static_cast<T*>(dots),
                                  {dot_share_.data(), arrived_.data() + tiles_, tiles_}},
               static_cast<const T*>(x), static_cast<cudaStream_t>(stream.native));
    } else {
      csr_operator<T, O>::apply_dots(alpha, x, beta, y, w, dots, stream);
    }
  }
  void apply_jacobi(double omega, const void* x, const void* b, const void* inverse_diagonal, void* y,
                    stream_view stream) override {
    if constexpr (std::is_floating_point_v<T>) {
      const device_guard guard(this->device_);
      run_with(jacobi_step<T>{static_cast<T>(omega), static_cast<const T*>(x), static_cast<const T*>(b),
                              static_cast<const T*>(inverse_diagonal), static_cast<T*>(y)},
               static_cast<const T*>(x), static_cast<cudaStream_t>(stream.native));
    } else {
      csr_operator<T, O>::apply_jacobi(omega, x, b, inverse_diagonal, y, stream);
    }
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return rows_.bytes() + part_.bytes() + arrived_.bytes() + dot_share_.bytes();
  }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override {
    return csr_operator<T, O>::matrix_bytes() + rows_.bytes();
  }

 private:
  static bool is_small(std::int64_t nnz, const context& ctx, const spmv_options& o) {
    if (o.block_size > 0) return o.block_size < 256;
    return nnz < std::int64_t{2048} * 4 * ctx.info().multiprocessors;
  }
  [[nodiscard]] std::int32_t blocks() const { return std::max(tiles_, slices_); }

  void run(scale_and_store<T> store, const T* x, cudaStream_t stream) override {
    if (this->a_.rows > 0) run_with(store, x, stream);
  }

  template <class Epilogue>
  void run_with(const Epilogue& epilogue, const T* x, cudaStream_t stream) {
    with_stream_shape(small_, [&](auto shape) {
      launch("csr.stream", csr_stream_kernel<shape.block, shape.items, T, O, Epilogue>,
             std::int64_t{blocks()} * shape.block, shape.block, 0, stream, this->a_,
             stream_workspace<T>{rows_.data(), {part_.data(), arrived_.data()}, tiles_, slices_}, x, epilogue);
    });
  }

  bool small_;
  std::int32_t tiles_ = 0, slices_ = 0;
  buffer<tile_rows> rows_;
  buffer<T> part_;
  buffer<unsigned> arrived_;
  buffer<T> dot_share_;
};

}  // namespace

std::unique_ptr<spmv_operator> make_csr_stream(const context& ctx, const csr_ref& a, const csr_stats& s,
                                               const spmv_options& o) {
  return make_operator<csr_stream, type_set::all>(ctx, a, s, o);
}

}  // namespace tulle::cuda
