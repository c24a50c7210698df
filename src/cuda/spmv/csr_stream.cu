// csr.stream: CSR-Stream (Greathouse and Daga, SC 2014) on tiles of equally many nonzeros, in one launch, without
// set-up. A block multiplies the nonzeros of its tile, whose place follows from the block's number alone, and leaves
// the products in shared memory; 1 to 32 lanes per row then add them. One thread: `Items` nonzeros, coalesced across
// the block, then its part of a row. Rows that reach far into the next tile: shared_parts.cuh. The first application
// finds the rows of each tile by a search and keeps them for the next. Bytes per nonzero: sizeof(T) + 4; plus one
// offset and one y per row and 16 bytes per tile. Chosen where a plan may cost nothing, and for integers. Needs no
// converted copy and no pass over the matrix.
#include "cuda/spmv/fused_operator.cuh"
#include "cuda/spmv/stream_block.cuh"

namespace tulle::cuda {
namespace {

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

/// Threads per block and nonzeros per thread.
template <int Block, int Items>
struct stream_shape {
  static constexpr int block = Block;
  static constexpr int items = Items;
  using tiling = nonzero_tiling<Block * Items, Block * Items / 2>;
};

/// Small tiles where each multiprocessor would get few large ones.
struct stream_shapes {
  using small = stream_shape<128, 4>;
  using large = stream_shape<256, 8>;
  static constexpr std::int64_t least_large_tiles = 4;  // per multiprocessor
};

template <class F>
void with_stream_shape(bool small, F&& f) {
  small ? f(stream_shapes::small{}) : f(stream_shapes::large{});
}

template <class T, class O>
class csr_stream final : public fused_operator<csr_stream<T, O>, csr_operator<T, O>> {
  using base = fused_operator<csr_stream, csr_operator<T, O>>;

 public:
  csr_stream(const context& ctx, csr_view<T, O> a, const csr_stats&, const spmv_options& o)
      : base(ctx, a, 0), small_(is_small(a.nnz, ctx, o)) {
    with_stream_shape(small_, [&](auto shape) {
      using tiling = typename decltype(shape)::tiling;
      this->block_size_ = shape.block;
      tiles_ = static_cast<std::int32_t>(tiling::tiles(a.nnz));
      slices_ = static_cast<std::int32_t>(tiling::slices(a.rows));
    });
    rows_ = buffer<tile_rows>(ctx, static_cast<std::size_t>(tiles_));
    fill_bytes(ctx, rows_.data(), ctx.space(), 0xff, rows_.bytes());
    parts_ = {ctx, tiles_};
    if constexpr (std::is_floating_point_v<T>) this->dots_ = {ctx, blocks(), tiles_};
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return rows_.bytes() + parts_.bytes() + this->dots_.bytes();
  }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override { return base::matrix_bytes() + rows_.bytes(); }

  [[nodiscard]] std::int32_t blocks() const noexcept { return this->a_.rows == 0 ? 0 : std::max(tiles_, slices_); }
  template <class Epilogue>
  void start(const Epilogue& epilogue, const T* x, cudaStream_t stream) {
    with_stream_shape(small_, [&](auto shape) {
      launch("csr.stream", csr_stream_kernel<shape.block, shape.items, T, O, Epilogue>, {blocks(), shape.block}, stream,
             this->a_, stream_workspace<T>{rows_.data(), parts_.view(), tiles_, slices_}, x, epilogue);
    });
  }

 private:
  static bool is_small(std::int64_t nnz, const context& ctx, const spmv_options& o) {
    if (o.block_size > 0) return o.block_size < stream_shapes::large::block;
    return nnz < stream_shapes::large::tiling::size * stream_shapes::least_large_tiles * ctx.info().multiprocessors;
  }

  bool small_;
  std::int32_t tiles_ = 0, slices_ = 0;
  buffer<tile_rows> rows_;
  part_workspace<T> parts_;
};

}  // namespace

spmv_kernel csr_stream_entry() {
  return {
      .name = "csr.stream",
      .summary = "equal tiles of nonzeros, products in shared memory, one launch, no set-up",
      .backend = backend_kind::cuda,
      .types = type_set::all,
      .needs_set_up = false,
      .has = {.many = true, .dots = true, .jacobi = true, .finish = true},
      .listens_to = {.block_size = true},
      .make = make_operator<csr_stream, type_set::all>,
  };
}

}  // namespace tulle::cuda
