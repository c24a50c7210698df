// csr.warp for complex numbers, 64-bit integers and booleans: y = alpha A x + beta y and several right-hand sides.
//
// Method: vector CSR (Bell and Garland, SC 2009), with 4 or 32 lanes for each row by the mean length of rows (`lanes`:
// by that). A lane multiplies every Lanes-th entry of its row, for up to 4 vectors at a time; the group's sums are added
// by shuffles, in the same order on every run. Bytes per nonzero: sizeof(T) + 4, once for 4 vectors; 2 offsets and one y
// per row. Chosen for these types, where there is no other kernel. The numbers are loaded part by part: a complex array
// needs no more alignment than its parts.
#include "cuda/spmv/csr_further.hpp"

#include "cuda/device/grid.cuh"
#include "cuda/device/warp.cuh"
#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/launch.cuh"
#include "cuda/spmv/csr_operator.cuh"
#include "kernels/further_types.hpp"

namespace tulle::cuda {
namespace {

using namespace further;

constexpr int vectors_at_once = 4;

/// The same number of a lane further on.
template <class R>
__device__ complex_number<R> shuffle_down(complex_number<R> v, int by) {
  return {__shfl_down_sync(full_warp, v.re, by), __shfl_down_sync(full_warp, v.im, by)};
}
__device__ inline wrapping shuffle_down(wrapping v, int by) {
  return {static_cast<std::uint64_t>(__shfl_down_sync(full_warp, static_cast<unsigned long long>(v.bits), by))};
}
__device__ inline truth shuffle_down(truth v, int by) {
  return {static_cast<std::uint8_t>(__shfl_down_sync(full_warp, static_cast<unsigned>(v.bit), by))};
}

template <class N>
struct problem {
  index_t rows;
  row_offsets rowptr;
  const index_t* colind;
  const N* values;
  int sign;
  double alpha, beta;
};

template <class N>
struct columns {
  N* data;
  index_t count;
  std::int64_t row_stride, vector_stride;

  [[nodiscard]] columns from(index_t first) const {
    return {data + first * vector_stride, min(count - first, vectors_at_once), row_stride, vector_stride};
  }
};

/// Whole warps run: a group past the last row has no entries.
template <class N>
__global__ void csr_further_kernel(problem<N> a, int lanes, columns<const N> x, columns<N> y) {
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const std::int64_t row = grid_thread() / lanes;
  N sum[vectors_at_once];
  for (int j = 0; j < vectors_at_once; ++j) sum[j] = N::zero();
  const std::int64_t begin = row < a.rows ? a.rowptr[row] : 0, end = row < a.rows ? a.rowptr[row + 1] : 0;
  for (std::int64_t k = begin + lane; k < end; k += lanes) {
    const N value = conjugated(a.sign, a.values[k]);
    const N* const v = x.data + a.colind[k] * x.row_stride;
#pragma unroll
    for (int j = 0; j < vectors_at_once; ++j) {
      if (j < x.count) sum[j] = multiply_add(sum[j], value, v[j * x.vector_stride]);
    }
  }
#pragma unroll
  for (int j = 0; j < vectors_at_once; ++j) {
    for (int by = lanes / 2; by > 0; by /= 2) sum[j] = add(sum[j], shuffle_down(sum[j], by));
    if (lane != 0 || row >= a.rows || j >= y.count) continue;
    N& to = y.data[row * y.row_stride + j * y.vector_stride];
    const N product = scaled(a.alpha, sum[j]);
    to = a.beta == 0 ? product : add(product, scaled(a.beta, to));
  }
}

template <class N>
class csr_further final : public spmv_operator {
 public:
  csr_further(const context& ctx, const matrix_ref& a, const csr_stats& stats, const spmv_options& options)
      : device_(ctx.device()),
        a_(a),
        sign_(options.conjugate ? -1 : 1),
        lanes_(options.lanes > 0 ? options.lanes : stats.mean < 16 ? 4 : 32),
        block_size_(pick_block_size(options)) {}

  void apply(double alpha, const void* x, double beta, void* y, stream_view stream) override {
    apply_many(alpha, {const_cast<void*>(x), 1, 1, 0}, beta, {y, 1, 1, 0}, stream);
  }
  void apply_many(double alpha, const strided_vectors& x, double beta, const strided_vectors& y,
                  stream_view stream) override {
    if (a_.rows == 0) return;
    const device_guard guard(device_);
    const problem<N> of{a_.rows, {a_.rowptr, a_.types.offset}, a_.colind, static_cast<const N*>(a_.values), sign_, alpha, beta};
    const columns<const N> from{static_cast<const N*>(x.data), x.count, x.row_stride, x.vector_stride};
    const columns<N> to{static_cast<N*>(y.data), y.count, y.row_stride, y.vector_stride};
    for (index_t first = 0; first < x.count; first += vectors_at_once) {
      launch("csr.warp", csr_further_kernel<N>, threads_for(std::int64_t{a_.rows} * lanes_, block_size_), native(stream), of,
             lanes_, from.from(first), to.from(first));
    }
  }
  void update_values(const matrix_ref& a) override { a_ = a; }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return 0; }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override {
    return static_cast<std::size_t>(a_.nnz) * (sizeof(N) + sizeof(index_t)) +
           (static_cast<std::size_t>(a_.rows) + 1) * size_of(a_.types.offset);
  }
  [[nodiscard]] std::string parameters() const override {
    return "block_size=" + std::to_string(block_size_) + " lanes=" + std::to_string(lanes_);
  }

 private:
  int device_;
  matrix_ref a_;
  int sign_;
  int lanes_;
  int block_size_;
};

}  // namespace

std::unique_ptr<spmv_operator> make_csr_further(const context& ctx, const matrix_ref& a, const csr_stats& stats,
                                                const spmv_options& options) {
  return further::dispatch(a.types.value, [&]<class N>() -> std::unique_ptr<spmv_operator> {
    return std::make_unique<csr_further<N>>(ctx, a, stats, options);
  });
}

}  // namespace tulle::cuda
