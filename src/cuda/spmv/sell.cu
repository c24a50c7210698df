// sell: SELL-32-sigma (Kreutzer, Hager, Wellein, Fehske, Bishop, SISC 2014), one warp a slice, one lane a row.
// A lane walks the slots of its row, several at a time so that their loads are in flight together; a warp reads 32
// neighbouring slots at once. The row permutation is folded into the store. Padding (column -1) never touches x.
// Bytes a slot: sizeof(T) + 4, plus 8 bytes a slice, one y and (when rows moved) 4 bytes a row; no offsets.
// Chosen by policy `simple` where rows, sorted within windows, pad little; packed reads fewer bytes.
#include <tulle/formats/convert.hpp>

#include "cuda/device/load.cuh"
#include "cuda/spmv/csr_operator.cuh"

namespace tulle::cuda {
namespace {

/// `Flight`: slots of a row in flight at once.
template <int Flight, class T>
__global__ void sell_kernel(sell_view<T> a, const T* __restrict__ x, scale_and_store<T> store) {
  const std::int64_t lane_row = grid_thread();
  const std::int64_t slice = lane_row / sell_slice_rows;
  if (slice >= a.slices) return;
  const std::int64_t begin = a.sliceptr[slice];
  const int width = static_cast<int>((a.sliceptr[slice + 1] - begin) / sell_slice_rows);
  const index_t* colind = a.colind + begin + threadIdx.x % sell_slice_rows;
  const T* values = a.values + begin + threadIdx.x % sell_slice_rows;
  T sum{0};
  for (int s = 0; s < width; s += Flight) {
    index_t column[Flight];
    T value[Flight];
#pragma unroll
    for (int i = 0; i < Flight; ++i) {
      const bool live = s + i < width;
      column[i] = live ? load_stream(colind + static_cast<std::int64_t>(s + i) * sell_slice_rows) : -1;
      value[i] = live ? load_stream(values + static_cast<std::int64_t>(s + i) * sell_slice_rows) : T{0};
    }
#pragma unroll
    for (int i = 0; i < Flight; ++i) {
      if (column[i] >= 0) sum = multiply_add(value[i], __ldg(x + column[i]), sum);
    }
  }
  const index_t row = a.perm != nullptr ? a.perm[lane_row] : (lane_row < a.rows ? static_cast<index_t>(lane_row) : -1);
  if (row >= 0) store(row, sum);
}

template <class T, class O>
class sell_operator final : public device_operator<T> {
 public:
  sell_operator(const context& ctx, csr_view<T, O> a, const csr_stats& s, const spmv_options& o)
      : device_operator<T>(ctx, pick_block_size(o, 256)),
        ctx_(ctx),
        sigma_(o.sigma > 0 ? o.sigma : s.sell_padding <= 1.01 * s.sell_sorted_padding ? 1 : 1024),
        a_(to_sell(ctx, a, sigma_)),
        // short rows of 4-byte values: 4 leave more warps resident, which measured faster than 8
        kernel_(sizeof(T) == 4 && s.mean < 16 ? sell_kernel<4, T> : sell_kernel<8, T>) {}
  void update_values(const csr_ref& a) override { tulle::update_values(ctx_, a.as<T, O>(), a_); }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return matrix_bytes(); }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override {
    return a_.sliceptr.bytes() + a_.perm.bytes() + a_.colind.bytes() + a_.values.bytes();
  }
  [[nodiscard]] std::string parameters() const override {
    return device_operator<T>::parameters() + " sigma=" + std::to_string(sigma_);
  }

 private:
  void run(scale_and_store<T> store, const T* x, cudaStream_t stream) override {
    launch("sell", kernel_, threads_for(static_cast<std::int64_t>(a_.slices) * sell_slice_rows, this->block_size_), stream, a_.view(), x, store);
  }

  context ctx_;
  index_t sigma_;
  sell<T> a_;
  void (*kernel_)(sell_view<T>, const T*, scale_and_store<T>);
};

}  // namespace

std::unique_ptr<spmv_operator> make_sell(const context& ctx, const csr_ref& a, const csr_stats& s, const spmv_options& o) {
  return make_operator<sell_operator, type_set::floating>(ctx, a, s, o);
}

}  // namespace tulle::cuda
