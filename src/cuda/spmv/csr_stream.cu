// csr.stream: CSR-Stream (Greathouse and Daga, SC 2014) on tiles of equally many nonzeros, in one launch, without set-up.
// A block loads the columns and values of its tile, whose place follows from its number alone, multiplies them by x and
// leaves the products in shared memory; 1 to 32 lanes a row then add them up. One thread: `Items` nonzeros, coalesced
// across the block, then its share of a row. Rows that reach far into the next tile: shared_parts.cuh. The first
// application finds the rows of each tile by a search and leaves them for the next.
// Bytes a nonzero: sizeof(T) + 4, plus one offset and one y a row, plus 16 bytes a tile. x is gathered once a nonzero.
// Chosen where a plan may cost nothing, and for integers. Needs no converted copy and no pass over the matrix.
#include <tulle/core/buffer.hpp>

#include "cuda/spmv/csr_operator.cuh"
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
               static_cast<const T*>(x), native(stream));
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
               static_cast<const T*>(x), native(stream));
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
      launch("csr.stream", csr_stream_kernel<shape.block, shape.items, T, O, Epilogue>, {blocks(), shape.block}, stream, this->a_, stream_workspace<T>{rows_.data(), {part_.data(), arrived_.data()}, tiles_, slices_}, x, epilogue);
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
