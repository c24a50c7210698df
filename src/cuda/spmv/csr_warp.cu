// csr.warp: vector CSR (Bell and Garland, SC 2009, "CSR vector") with a group of 1 to 32 lanes a row.
// One lane takes every Lanes-th entry of its row; the group's sums meet by shuffles.
// Bytes a nonzero: sizeof(T) + 4, plus 2 offsets and one y a row.
// Chosen for small integer matrices whose rows are alike in length.
#include "cuda/device/load.cuh"
#include "cuda/device/warp.cuh"
#include "cuda/spmv/csr_operator.cuh"
#include "cuda/spmv/lanes.cuh"

namespace tulle::cuda {
namespace {

template <int Lanes, class T, class O>
__global__ void csr_warp_kernel(csr_view<T, O> a, const T* __restrict__ x, scale_and_store<T> store) {
  const int lane = threadIdx.x % Lanes;
  const std::int64_t row = (grid_thread()) / Lanes;
  T sum{0};
  if (row < a.rows) {
    const O end = a.rowptr[row + 1];
#pragma unroll 4
    for (O k = a.rowptr[row] + lane; k < end; k += Lanes) {
      sum = multiply_add(load_stream(a.values + k), __ldg(x + load_stream(a.colind + k)), sum);
    }
  }
  sum = warp_sum<Lanes>(sum);
  if (lane == 0 && row < a.rows) store(static_cast<index_t>(row), sum);
}

template <class T, class O>
class csr_warp final : public csr_operator<T, O> {
 public:
  csr_warp(const context& ctx, csr_view<T, O> a, const csr_stats& s, const spmv_options& o)
      : csr_operator<T, O>(ctx, a, pick_block_size(o, 256)), lanes_(pick_lanes(s, o)) {}
  [[nodiscard]] std::string parameters() const override {
    return device_operator<T>::parameters() + " lanes=" + std::to_string(lanes_);
  }

 private:
  void run(scale_and_store<T> store, const T* x, cudaStream_t stream) override {
    with_lanes(lanes_, [&]<int Lanes>() {
      launch("csr.warp", csr_warp_kernel<Lanes, T, O>, threads_for(static_cast<std::int64_t>(this->a_.rows) * Lanes, this->block_size_), stream, this->a_, x, store);
    });
  }

  int lanes_;
};

}  // namespace

std::unique_ptr<spmv_operator> make_csr_warp(const context& ctx, const csr_ref& a, const csr_stats& s,
                                             const spmv_options& o) {
  return make_operator<csr_warp, type_set::all>(ctx, a, s, o);
}
}  // namespace tulle::cuda
