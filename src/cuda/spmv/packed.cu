// packed: SELL-32-sigma (Kreutzer, Hager, Wellein, Fehske, Bishop, SISC 2014) with compressed columns and 1 to 32 lanes a
// row; packed_format.cuh says how it is stored. One warp a slice; a lane walks its entries, the lanes of a row meet by
// shuffles, and the row permutation is folded into the store. The parts of a long row leave their sums in memory, and
// the warp that comes last adds them in order: one launch.
// Bytes a nonzero: sizeof(T) + 0, 1, 2 or 4 + 1/8, and per row one y and at most 4 bytes; no offsets.
// Chosen wherever a converted copy pays.
#include <algorithm>

#include "cuda/spmv/csr_operator.cuh"
#include "cuda/spmv/packed_build.hpp"
#include "cuda/spmv/packed_walk.cuh"

namespace tulle::cuda {
namespace {

/// Where the parts of long rows meet.
template <class T>
__device__ __forceinline__ bool add_part(const packed_pattern& a, const packed_slice& s, T sum, T* part_sum,
                                         packed_long_row& row, std::uint32_t& slot, T& total) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  slot = a.part_row[s.order];
  row = a.long_row[slot];
  bool last = false;
  if (lane == 0) {
    part_sum[s.order] = sum;
    __threadfence();
    last = atomicAdd(&a.long_row[slot].arrived, 1u) == row.count - 1;
  }
  if (__shfl_sync(0xffffffffu, static_cast<int>(last), 0) == 0) return false;
  __threadfence();
  total = T{0};
  for (std::uint32_t i = static_cast<std::uint32_t>(lane); i < row.count; i += 32) total = add(total, __ldcg(part_sum + row.first + i));
  total = sum_over_lanes<32>(total);
  if (lane == 0) a.long_row[slot].arrived = 0;
  return lane == 0;
}

template <int Flight, class T, class Epilogue>
__global__ void __launch_bounds__(256) packed_kernel(packed_pattern a, const T* __restrict__ values, const T* __restrict__ x,
                                                     T* part_sum, Epilogue epilogue) {
  const std::int64_t i = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  if (i < a.slices) {  // whole warps
    const packed_slice s = load_slice(a, i);
    const packed_lane lane = lane_of(a, s, static_cast<int>(threadIdx.x % 32));
    T sum{0};
    walk_slice<Flight>(a, s, lane, values, [&](T value, index_t column) { sum = multiply_add(value, __ldg(x + column), sum); });
    for (int d = (1 << s.lanes_log2) >> 1; d > 0; d >>= 1) sum = add(sum, __shfl_xor_sync(0xffffffffu, sum, d));
    if (s.rows != 0) {
      if (lane.owns_row) epilogue(lane.row, sum);
    } else {
      packed_long_row row;
      std::uint32_t slot;
      T total;
      if (add_part(a, s, sum, part_sum, row, slot, total)) epilogue.shared_row(static_cast<index_t>(slot), row.row, total);
    }
  }
  epilogue.finish();
}

/// Enough slices to fill the device, as few lanes a row as that leaves.
packed_shape shape_for(const context& ctx, const csr_stats& s, const spmv_options& o) {
  const std::int64_t lanes = std::int64_t{ctx.info().multiprocessors} * 48 * 32;
  packed_shape shape;
  shape.positions = static_cast<int>(std::clamp<std::int64_t>(ceil_div(s.nnz, lanes), 4, 64));
  shape.positions += shape.positions / 2;
  shape.part_length = std::clamp(32 * 4 * shape.positions, 512, 8192) / 32 * 32;
  for (index_t b = 2; b <= 8; ++b) {
    if (s.block_fill[static_cast<std::size_t>(b)] > 0.8) shape.block = b;
  }
  if (o.lanes > 0) shape.positions = static_cast<int>(std::max<std::int64_t>(1, s.max / o.lanes));
  return shape;
}

template <class T, class O>
class packed_operator final : public device_operator<T> {
 public:
  packed_operator(const context& ctx, csr_view<T, O> a, const csr_stats& s, const spmv_options& o)
      : device_operator<T>(ctx, std::min(256, pick_block_size(o, 256))),
        ctx_(ctx),
        shape_(shape_for(ctx, s, o)),
        storage_(ctx, a.rows, a.rowptr, a.colind, s.max, shape_, nullptr),
        values_(ctx, static_cast<std::size_t>(a.nnz)),
        part_sum_(ctx, static_cast<std::size_t>(storage_.parts())),
        dot_share_(ctx, 2 * static_cast<std::size_t>(blocks() + storage_.long_rows())),
        dots_arrived_(ctx, 1) {
    storage_.fill_values(ctx, a.rowptr, a.values, values_.data());
    fill_bytes(ctx, dots_arrived_.data(), memory_space::device, 0, sizeof(unsigned));
  }
  void update_values(const csr_ref& a) override {
    const auto view = a.as<T, O>();
    storage_.fill_values(ctx_, view.rowptr, view.values, values_.data());
  }
  void apply_dots(double alpha, const void* x, double beta, void* y, const void* w, void* dots, stream_view stream) override {
    const scale_and_store<T> store{static_cast<T>(alpha), static_cast<T>(beta), static_cast<T*>(y)};
    start(store_with_dots<T>{store, static_cast<const T*>(w), static_cast<T*>(dots),
                             {dot_share_.data(), dots_arrived_.data(), static_cast<index_t>(storage_.long_rows())}},
          x, stream);
  }
  void apply_jacobi(double omega, const void* x, const void* b, const void* inverse_diagonal, void* y, stream_view stream) override {
    start(jacobi_step<T>{static_cast<T>(omega), static_cast<const T*>(x), static_cast<const T*>(b),
                         static_cast<const T*>(inverse_diagonal), static_cast<T*>(y)},
          x, stream);
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return matrix_bytes() + part_sum_.bytes() + dot_share_.bytes() + dots_arrived_.bytes();
  }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override { return storage_.bytes() + values_.bytes(); }
  [[nodiscard]] std::string parameters() const override {
    return device_operator<T>::parameters() + " positions=" + std::to_string(shape_.positions) + " block=" + std::to_string(shape_.block);
  }

 private:
  [[nodiscard]] std::int64_t blocks() const { return ceil_div(storage_.view().slices * 32, this->block_size_); }

  template <class Epilogue>
  void start(const Epilogue& epilogue, const void* x, stream_view stream) {
    const device_guard guard(this->device_);
    static const char* fl = getenv("FLIGHT");
    auto kernel = packed_kernel<8, T, Epilogue>;
    if constexpr (std::is_same_v<Epilogue, scale_and_store<T>>) {
    if (fl != nullptr && fl[0] == '4') kernel = packed_kernel<4, T, Epilogue>;
    if (fl != nullptr && fl[0] == '1') kernel = packed_kernel<16, T, Epilogue>;
    }
    launch("packed", kernel, blocks() * this->block_size_, this->block_size_, 0,
           static_cast<cudaStream_t>(stream.native), storage_.view(), static_cast<const T*>(values_.data()),
           static_cast<const T*>(x), part_sum_.data(), epilogue);
  }
  void run(scale_and_store<T> store, const T* x, cudaStream_t stream) override { start(store, x, stream_view{stream}); }

  context ctx_;
  packed_shape shape_;
  packed_storage storage_;
  buffer<T> values_;
  buffer<T> part_sum_;
  buffer<T> dot_share_;
  buffer<unsigned> dots_arrived_;
};

}  // namespace

std::unique_ptr<spmv_operator> make_packed(const context& ctx, const csr_ref& a, const csr_stats& s, const spmv_options& o) {
  return make_operator<packed_operator, type_set::floating>(ctx, a, s, o);
}

}  // namespace tulle::cuda
