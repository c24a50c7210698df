// packed: SELL-32-sigma (Kreutzer, Hager, Wellein, Fehske, Bishop, SISC 2014) with compressed columns and 1 to 32 lanes a
// row; packed_format.cuh says how it is stored. One warp a slice; a lane walks its entries, the lanes of a row meet by
// shuffles, and the row permutation is folded into the store. The parts of a long row leave their sums in memory, and
// the warp that comes last adds them in order: one launch.
// Bytes a nonzero: sizeof(T) + 0, 1, 2 or 4 + 1/8, and per row one y and at most 4 bytes; no offsets.
// Chosen from two and a half million nonzeros on, but where csr5 is; of rows longer than 1000, from a million on.
#include <algorithm>
#include <optional>

#include "cuda/spmv/csr_operator.cuh"
#include "cuda/spmv/packed_build.hpp"
#include "cuda/spmv/packed_many.hpp"
#include "cuda/spmv/packed_parts.cuh"
#include "cuda/spmv/packed_walk.cuh"
#include "kernels/formats.hpp"

namespace tulle::cuda {
namespace {

constexpr int block_size = 128;
/// Lanes a thread, positions in flight, and blocks that are to be resident on a multiprocessor: two lanes a thread
/// halve what a slice costs besides its entries; more positions in flight pay where x is read from everywhere.
template <int Lanes, int Flight, int Resident, bool Ahead = false>
struct packed_tuning : packed_division<Lanes, 1, Flight, Ahead> {
  static constexpr int resident = Resident;
};
using tall = packed_tuning<2, 4, 9>;
using tall_ahead = packed_tuning<2, 4, 9, true>;
using local = packed_tuning<1, 4, 10>;
using local_ahead = packed_tuning<1, 4, 10, true>;
using scattered = packed_tuning<1, 8, 8>;

template <class Tuning, class T, class Epilogue>
__global__ void __launch_bounds__(block_size, Tuning::resident)
    packed_kernel(packed_pattern a, const T* __restrict__ values, const T* __restrict__ x, T* part_sum,
                  Epilogue epilogue) {
  constexpr int lanes = Tuning::lanes;
  const std::int64_t i = (std::int64_t{blockIdx.x} * block_size + threadIdx.x) / 32;
  if (i < a.slices) {  // whole warps
    const packed_slice s = load_slice(a, i);
    packed_lane lane[lanes];
    lanes_of<Tuning>(a, s, lane);
    T sum[lanes][1] = {};
    walk_slice<Tuning>(a, s, lane, values, [&](int h, T value, index_t column) {
      sum[h][0] = multiply_add(value, __ldg(x + column), sum[h][0]);
    });
    sum_rows<Tuning>(s, sum);
    if (s.rows == 0) {
      packed_long_row row;
      std::uint32_t slot;
      if (add_part<1>(a, s, sum[0], part_sum, row, slot))
        epilogue.shared_row(static_cast<index_t>(slot), row.row, sum[0][0]);
    } else {
#pragma unroll
      for (int h = 0; h < lanes; ++h) {
        if (lane[h].owns_row) epilogue(lane[h].row, sum[h][0]);
      }
    }
  }
  epilogue.finish();
}

bool is_scattered(const csr_stats& s) { return s.gather_sectors > scattered_sectors; }

bool pays_ahead(const csr_stats& s, const packed_shape& shape, std::size_t value_bytes) {
  return !is_scattered(s) && s.mean >= 16 && s.max <= 4 * s.mean && (value_bytes == 4 || shape.height == 64);
}

/// Enough slices to fill the device, as few lanes a row as that leaves, and no slice so long that the others wait for
/// it.
packed_shape shape_for(const context& ctx, const csr_stats& s) {
  const std::int64_t lanes = std::int64_t{ctx.info().multiprocessors} * local::resident * block_size;
  const auto share = static_cast<int>(std::min<std::int64_t>(ceil_div(s.nnz, lanes), 1024));  // of a lane
  packed_shape shape;
  shape.positions = std::clamp(share + share / 2, 8, 96);
  shape.height = s.mean <= 32 && s.rows >= 500'000 && !is_scattered(s) ? 64 : 32;
  shape.part_length = 64 * std::clamp(share, 8, 128);
  for (index_t b = 2; b <= 8; ++b) {
    if (s.block_fill[static_cast<std::size_t>(b)] > 0.8) shape.block = b;
  }
  return shape;
}

template <class T, class O>
class packed_operator final : public device_operator<T> {
 public:
  packed_operator(const context& ctx, csr_view<T, O> a, const csr_stats& s, const spmv_options&)
      : device_operator<T>(ctx, block_size),
        ctx_(ctx),
        shape_(shape_for(ctx, s)),
        scattered_(is_scattered(s)),
        ahead_(pays_ahead(s, shape_, sizeof(T))) {
    storage_.emplace(ctx, a.rows, a.rowptr, a.colind, s.max, shape_);
    values_ = buffer<T>(ctx, static_cast<std::size_t>(a.nnz));
    part_sum_ = buffer<T>(ctx, packed_many_most * static_cast<std::size_t>(storage_->parts()));
    dot_share_ = buffer<T>(ctx, 2 * static_cast<std::size_t>(blocks() + storage_->long_rows()));
    dots_arrived_ = buffer<unsigned>(ctx, 1);
    storage_->fill_values(ctx, a.rowptr, a.values, values_.data());
    fill_bytes(ctx, dots_arrived_.data(), memory_space::device, 0, sizeof(unsigned));
  }
  void update_values(const csr_ref& a) override {
    const auto view = a.as<T, O>();
    storage_->fill_values(ctx_, view.rowptr, view.values, values_.data());
  }
  void apply_many(double alpha, const strided_vectors& x, double beta, const strided_vectors& y,
                  stream_view stream) override {
    const device_guard guard(this->device_);
    packed_many<T>(storage_->view(), shape_.height, values_.data(), part_sum_.data(), alpha, x, beta, y,
                   native(stream));
  }
  void apply_dots(double alpha, const void* x, double beta, void* y, const void* w, void* dots,
                  stream_view stream) override {
    const scale_and_store<T> store{static_cast<T>(alpha), static_cast<T>(beta), static_cast<T*>(y)};
    if (blocks() == 0) {
      const device_guard guard(this->device_);
      check(cudaMemsetAsync(dots, 0, 2 * sizeof(T), native(stream)), "cudaMemsetAsync");
    }
    start(store_with_dots<T>{store,
                             static_cast<const T*>(w),
                             static_cast<T*>(dots),
                             {dot_share_.data(), dots_arrived_.data(), static_cast<index_t>(storage_->long_rows())}},
          x, stream);
  }
  void apply_jacobi(double omega, const void* x, const void* b, const void* inverse_diagonal, void* y,
                    stream_view stream) override {
    start(jacobi_step<T>{static_cast<T>(omega), static_cast<const T*>(x), static_cast<const T*>(b),
                         static_cast<const T*>(inverse_diagonal), static_cast<T*>(y)},
          x, stream);
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return matrix_bytes() + part_sum_.bytes() + dot_share_.bytes() + dots_arrived_.bytes();
  }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override { return storage_->bytes() + values_.bytes(); }
  [[nodiscard]] std::string parameters() const override {
    std::string out = "height=" + std::to_string(shape_.height) + " positions=" + std::to_string(shape_.positions);
    if (shape_.block > 1) out += " block=" + std::to_string(shape_.block);
    return out;
  }

 private:
  [[nodiscard]] std::int64_t blocks() const { return ceil_div(storage_->view().slices * 32, block_size); }

  template <class Epilogue>
  void start(const Epilogue& epilogue, const void* x, stream_view on) {
    const device_guard guard(this->device_);
    const auto stream = static_cast<cudaStream_t>(on.native);
    const auto kernel = shape_.height == 64
                            ? (ahead_ ? packed_kernel<tall_ahead, T, Epilogue> : packed_kernel<tall, T, Epilogue>)
                        : scattered_ ? packed_kernel<scattered, T, Epilogue>
                        : ahead_     ? packed_kernel<local_ahead, T, Epilogue>
                                     : packed_kernel<local, T, Epilogue>;
    launch("packed", kernel, {blocks(), block_size}, stream, storage_->view(), values_.data(), x, part_sum_.data(), epilogue);
  }
  void run(scale_and_store<T> store, const T* x, cudaStream_t stream) override { start(store, x, stream_view{stream}); }

  context ctx_;
  packed_shape shape_;
  bool scattered_;
  bool ahead_;
  std::optional<packed_storage> storage_;
  buffer<T> values_;
  buffer<T> part_sum_;
  buffer<T> dot_share_;
  buffer<unsigned> dots_arrived_;
};

}  // namespace

std::unique_ptr<spmv_operator> make_packed(const context& ctx, const csr_ref& a, const csr_stats& s,
                                           const spmv_options& o) {
  return make_operator<packed_operator, type_set::floating>(ctx, a, s, o);
}

}  // namespace tulle::cuda
