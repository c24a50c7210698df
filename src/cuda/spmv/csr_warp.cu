// csr.warp: vector CSR (Bell and Garland, SC 2009, "CSR vector") with a group of 1 to 32 lanes per row.
// A lane multiplies every Lanes-th entry of its row; the sums of the group are added by shuffles.
// Bytes per nonzero: sizeof(T) + 4; plus 2 offsets and one y per row.
// Chosen for small integer matrices whose rows have similar lengths, by policy `simple`, and for several right-hand
// sides of matrices whose rows are alike (csr_many.cu).
#include "cuda/spmv/csr_further.hpp"
#include "cuda/spmv/csr_operator.cuh"
#include "cuda/spmv/lanes.cuh"

namespace tulle::cuda {
namespace {

template <int Lanes, class T, class O>
__global__ void csr_warp_kernel(csr_view<T, O> a, const T* __restrict__ x, scale_and_store<T> store) {
  const int lane = threadIdx.x % Lanes;
  const std::int64_t row = grid_thread() / Lanes;
  T sum{0};
  if (row < a.rows) sum = sum_share<Lanes>(a, row, lane, x);
  sum = warp_sum<Lanes>(sum);
  if (lane == 0 && row < a.rows) store(static_cast<index_t>(row), sum);
}

template <class T, class O>
class csr_warp final : public csr_operator<T, O> {
 public:
  csr_warp(const context& ctx, csr_view<T, O> a, const csr_stats& s, const spmv_options& o)
      : csr_operator<T, O>(ctx, a, pick_block_size(o)), lanes_(pick_lanes(s, o)) {}
  [[nodiscard]] std::string parameters() const override {
    return device_operator<T>::parameters() + " lanes=" + std::to_string(lanes_);
  }

 private:
  void run(scale_and_store<T> store, const T* x, cudaStream_t stream) override {
    with_lanes(lanes_, [&]<int Lanes>() {
      launch("csr.warp", csr_warp_kernel<Lanes, T, O>,
             threads_for(std::int64_t{this->a_.rows} * Lanes, this->block_size_), stream, this->a_, x, store);
    });
  }

  int lanes_;
};

std::unique_ptr<spmv_operator> make_for_every_type(const context& ctx, const matrix_ref& a, const csr_stats& stats,
                                                   const spmv_options& options) {
  if (contains(type_set::further, types_of(a, options))) return make_csr_further(ctx, a, stats, options);
  return make_operator<csr_warp, type_set::all>(ctx, a, stats, options);
}

}  // namespace

spmv_kernel csr_warp_entry() {
  return {
      .name = "csr.warp",
      .summary = "1 to 32 lanes per row, shuffles",
      .backend = backend_kind::cuda,
      .types = type_set::all | type_set::further,
      .needs_set_up = false,
      .has = {.many = true, .finish = true},
      .listens_to = {.block_size = true, .lanes = true},
      .make = make_for_every_type,
  };
}

}  // namespace tulle::cuda
