// sell: SELL-32-sigma (Kreutzer, Hager, Wellein, Fehske, Bishop, SISC 2014), one warp per slice, one lane per row.
// A lane walks the slots of its row with several loads in flight; a warp reads 32 neighbouring slots at once. The store
// permutes the rows back. Padding (column -1) never touches x.
// Bytes per slot: sizeof(T) + 4; plus 8 bytes per slice and, per row, one y and (if rows moved) 4 bytes; no offsets.
// Chosen where it is predicted to be the fastest (plan/spmv_terms_cuda.hpp): neighbouring rows read x in step, and offsets
// of packed would not be short. And by policy `simple` where rows sorted within windows pad little.
#include <tulle/formats/convert.hpp>

#include "cuda/device/load.cuh"
#include "cuda/spmv/csr_operator.cuh"
#include "cuda/spmv/supports.hpp"

namespace tulle::cuda {
namespace {

struct sell_policy {
  static constexpr int threads = 256;
  static constexpr index_t sigma = 1024;
  static constexpr double unsorted_padding = 1.01;  // rows are left in place up to this multiple of the sorted padding

  /// 4 slots of a row in flight, not 8, leave more warps resident: measured faster for short rows of 4-byte values.
  static constexpr int flight(std::size_t value_bytes, double mean) { return value_bytes == 4 && mean < 16 ? 4 : 8; }
};

/// `Flight`: slots of a row in flight at once.
template <int Flight, class T, class V>
__global__ void sell_kernel(sell_view<T> a, const V* __restrict__ x, scale_and_store<V> store) {
  const std::int64_t lane_row = grid_thread();
  const std::int64_t slice = lane_row / sell_slice_rows;
  if (slice >= a.slices) return;
  const std::int64_t begin = a.sliceptr[slice];
  const int width = static_cast<int>((a.sliceptr[slice + 1] - begin) / sell_slice_rows);
  const index_t* colind = a.colind + begin + threadIdx.x % sell_slice_rows;
  const T* values = a.values + begin + threadIdx.x % sell_slice_rows;
  V sum{0};
  for (int s = 0; s < width; s += Flight) {
    index_t column[Flight];
    T value[Flight];
#pragma unroll
    for (int i = 0; i < Flight; ++i) {
      const bool live = s + i < width;
      column[i] = live ? load_stream(colind + std::int64_t{s + i} * sell_slice_rows) : -1;
      value[i] = live ? load_stream(values + std::int64_t{s + i} * sell_slice_rows) : T{0};
    }
#pragma unroll
    for (int i = 0; i < Flight; ++i) {
      if (column[i] >= 0) sum = multiply_add(V{value[i]}, __ldg(x + column[i]), sum);
    }
  }
  const index_t row = a.perm != nullptr ? a.perm[lane_row] : (lane_row < a.rows ? static_cast<index_t>(lane_row) : -1);
  if (row >= 0) store(row, sum);
}

template <class T, class V, class O>
class sell_operator final : public device_operator<V> {
 public:
  sell_operator(const context& ctx, csr_view<T, O> a, const csr_stats& s, const spmv_options& o)
      : device_operator<V>(ctx, pick_block_size(o, sell_policy::threads)),
        ctx_(ctx),
        sigma_(sigma_for(s, o)),
        a_(to_sell(ctx, a, sigma_)),
        kernel_(sell_policy::flight(sizeof(T), s.mean) == 4 ? sell_kernel<4, T, V> : sell_kernel<8, T, V>) {}
  void update_values(const matrix_ref& a) override { tulle::update_values(ctx_, a.as<T, O>(), a_); }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return matrix_bytes(); }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override {
    return a_.sliceptr.bytes() + a_.perm.bytes() + a_.colind.bytes() + a_.values.bytes();
  }
  [[nodiscard]] std::string parameters() const override {
    return device_operator<V>::parameters() + " sigma=" + std::to_string(sigma_);
  }

 private:
  static index_t sigma_for(const csr_stats& s, const spmv_options& o) {
    if (o.sigma > 0) return o.sigma;
    return s.sell_padding <= sell_policy::unsorted_padding * s.sell_sorted_padding ? 1 : sell_policy::sigma;
  }
  void run(scale_and_store<V> store, const V* x, cudaStream_t stream) override {
    launch("sell", kernel_, threads_for(std::int64_t{a_.slices} * sell_slice_rows, this->block_size_), stream,
           a_.view(), x, store);
  }

  context ctx_;
  index_t sigma_;
  sell<T> a_;
  void (*kernel_)(sell_view<T>, const V*, scale_and_store<V>);
};

}  // namespace

spmv_kernel sell_entry() {
  return {
      .name = "sell",
      .summary = "SELL-32-sigma, one lane per row",
      .backend = backend_kind::cuda,
      .types = type_set::floating | type_set::narrow,
      .listens_to = {.block_size = true, .sigma = true},
      .supports = supports_sell,
      .make = make_operator<sell_operator, type_set::floating | type_set::narrow>,
  };
}

}  // namespace tulle::cuda
