// packed: SELL-32-sigma (Kreutzer, Hager, Wellein, Fehske, Bishop, SISC 2014) with compressed columns and 1 to 32 lanes
// per row; packed_format.cuh says how it is stored. One warp per slice: a lane walks its entries, the lanes of a row
// are added by shuffles, and the store permutes the rows back. The parts of a long row leave their sums in memory, and
// the last warp to arrive adds them in order, in the same launch. Bytes per nonzero: sizeof(T) + 0, 1, 2 or 4 + 1/8;
// plus one y and at most 4 bytes per row; no offsets. Chosen for at least 2.5 million nonzeros (1 million if rows are
// longer than 1000) unless csr5 is.
#include <algorithm>
#include <cstdlib>

#include "cuda/spmv/fused_operator.cuh"
#include "cuda/spmv/packed_build.hpp"
#include "cuda/spmv/packed_many.hpp"
#include "cuda/spmv/packed_parts.cuh"
#include "cuda/spmv/packed_walk.cuh"
#include "cuda/spmv/supports.hpp"
#include "kernels/formats.hpp"

namespace tulle::cuda {
namespace {

/// What was fastest on an NVIDIA H200.
struct packed_policy {
  static constexpr int threads = 128;  // per block
  // Values are prefetched where rows are long and of similar length.
  static constexpr double ahead_least_mean = 16, ahead_most_skew = 4;
  // Slices of 64 lanes, where rows are short and many.
  static constexpr double tall_most_mean = 32;
  static constexpr index_t tall_least_rows = 500'000;
  // From the entries that each resident lane would get: positions of a slice, and 64ths of a part of a long row.
  static constexpr int most_share = 1024, least_positions = 8, most_positions = 96, least_part = 8, most_part = 128;
  static constexpr double block_fill = 0.8;  // from which columns count from the first row of a block
};

/// Lanes per thread, positions in flight, resident blocks per multiprocessor. Two lanes per thread halve the cost of a
/// slice besides its entries; more positions in flight pay where x is read from everywhere.
template <int Lanes, int Flight, int Resident, bool Ahead = false>
struct packed_tuning : packed_division<Lanes, 1, Flight, Ahead> {
  static constexpr int resident = Resident;
};
using tall = packed_tuning<2, 4, 9>;
using tall_ahead = packed_tuning<2, 4, 9, true>;
using tall_eight = packed_tuning<2, 8, 6, true>;
using local = packed_tuning<1, 4, 10>;
using local_ahead = packed_tuning<1, 4, 10, true>;
using scattered = packed_tuning<1, 8, 8>;

template <class Tuning, class T, class Epilogue>
__global__ void __launch_bounds__(packed_policy::threads, Tuning::resident)
    packed_kernel(packed_pattern a, const T* __restrict__ values, const T* __restrict__ x, T* part_sum,
                  bool early, Epilogue epilogue) {
  constexpr int lanes = Tuning::lanes;
  const std::int64_t i = (std::int64_t{blockIdx.x} * packed_policy::threads + threadIdx.x) / 32;
  if (i < a.slices) {  // whole warps
    const packed_slice s = load_slice(a, i);
    packed_lane lane[lanes];
    lanes_of<Tuning>(a, s, lane);
    T sum[lanes][1] = {};
#pragma unroll
    for (int h = 0; h < lanes; ++h) {
      if (early && lane[h].owns_row) epilogue.fetch(lane[h].row);
    }
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
  if (std::getenv("TULLE_TRY_NO_AHEAD") != nullptr) return false;
  return !is_scattered(s) && s.mean >= packed_policy::ahead_least_mean &&
         s.max <= packed_policy::ahead_most_skew * s.mean &&
         (value_bytes == 4 || shape.height == 64 || std::getenv("TULLE_TRY_AHEAD") != nullptr);
}

/// Enough slices to fill the device, then as few lanes per row as possible, and no slice so long that it ends last
/// alone.
packed_shape shape_for(const context& ctx, const csr_stats& s) {
  using policy = packed_policy;
  const std::int64_t lanes = std::int64_t{ctx.info().multiprocessors} * local::resident * policy::threads;
  const auto share = static_cast<int>(std::min<std::int64_t>(ceil_div(s.nnz, lanes), policy::most_share));
  const bool tall_slices = s.mean <= policy::tall_most_mean && s.rows >= policy::tall_least_rows && !is_scattered(s);
  packed_shape shape;
  shape.positions = std::clamp(share + share / 2, policy::least_positions, policy::most_positions);
  const char* const trial = std::getenv("TULLE_TRY_HEIGHT");
  shape.height = tall_slices && (trial == nullptr || trial[0] == 0) ? 64 : 32;
  shape.part_length = 64 * std::clamp(share, policy::least_part, policy::most_part);
  for (index_t b = 2; b <= 8; ++b) {
    if (s.block_fill[static_cast<std::size_t>(b)] > policy::block_fill) shape.block = b;
  }
  return shape;
}

template <class T, class O>
class packed_operator final : public fused_operator<packed_operator<T, O>, device_operator<T>> {
 public:
  packed_operator(const context& ctx, csr_view<T, O> a, const csr_stats& s, const spmv_options&)
      : fused_operator<packed_operator, device_operator<T>>(ctx, packed_policy::threads),
        ctx_(ctx),
        shape_(shape_for(ctx, s)),
        scattered_(is_scattered(s)),
        ahead_(pays_ahead(s, shape_, sizeof(T))),
        storage_(ctx, a.rows, a.rowptr, a.colind, s.max, shape_),
        values_(ctx, static_cast<std::size_t>(a.nnz)),
        part_sum_(ctx, packed_many_most * static_cast<std::size_t>(storage_.parts())) {
    this->dots_ = {ctx, blocks(), storage_.long_rows()};
    storage_.fill_values(ctx, a.rowptr, a.values, values_.data());
  }
  void update_values(const matrix_ref& a) override {
    const auto view = a.as<T, O>();
    storage_.fill_values(ctx_, view.rowptr, view.values, values_.data());
  }
  void apply_many(double alpha, const strided_vectors& x, double beta, const strided_vectors& y,
                  stream_view stream) override {
    const device_guard guard(this->device_);
    packed_many<T>(storage_.view(), shape_.height, values_.data(), part_sum_.data(), alpha, x, beta, y, native(stream));
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return matrix_bytes() + part_sum_.bytes() + this->dots_.bytes();
  }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override { return storage_.bytes() + values_.bytes(); }
  [[nodiscard]] std::string parameters() const override {
    std::string out = "height=" + std::to_string(shape_.height) + " positions=" + std::to_string(shape_.positions);
    if (shape_.block > 1) out += " block=" + std::to_string(shape_.block);
    return out;
  }

  [[nodiscard]] std::int64_t blocks() const { return ceil_div(storage_.view().slices * 32, packed_policy::threads); }
  template <class Epilogue>
  void start(const Epilogue& epilogue, const T* x, cudaStream_t stream) {
    const auto kernel = shape_.height == 64
                            ? (std::getenv("TULLE_TRY_EIGHT") != nullptr ? packed_kernel<tall_eight, T, Epilogue>
                               : ahead_ ? packed_kernel<tall_ahead, T, Epilogue> : packed_kernel<tall, T, Epilogue>)
                        : scattered_ ? packed_kernel<scattered, T, Epilogue>
                        : ahead_     ? packed_kernel<local_ahead, T, Epilogue>
                                     : packed_kernel<local, T, Epilogue>;
    const char* const trial = std::getenv("TULLE_TRY_FETCH");
    const bool early = trial == nullptr || trial[0] == 0;
    launch("packed", kernel, {blocks(), packed_policy::threads}, stream, storage_.view(), values_.data(), x,
           part_sum_.data(), early, epilogue);
  }

 private:
  context ctx_;
  packed_shape shape_;
  bool scattered_;
  bool ahead_;
  packed_storage storage_;
  buffer<T> values_;
  buffer<T> part_sum_;
};

}  // namespace

spmv_kernel packed_entry() {
  return {
      .name = "packed",
      .summary = "SELL-32-sigma with compressed columns, 1 to 32 lanes per row",
      .backend = backend_kind::cuda,
      .types = type_set::floating,
      .has = {.many = true, .dots = true, .jacobi = true},
      .listens_to = {.block_size = true},
      .supports = supports_packed,
      .make = make_operator<packed_operator, type_set::floating>,
  };
}

}  // namespace tulle::cuda
