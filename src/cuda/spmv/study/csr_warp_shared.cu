// csr.warp_shared: vector CSR with the partial sums reduced in shared memory (Bell and Garland, SC 2009, the original
// form of "CSR vector", with the warp-level synchronisation that it needs since Volta).
// A lane multiplies every Lanes-th entry of its row and leaves its sum in shared memory; a tree of additions follows.
// Bytes per nonzero: sizeof(T) + 4; plus 2 offsets and one y per row.
// Part of the kernel study: csr.warp does the same by shuffles, without shared memory.
#include "cuda/spmv/csr_operator.cuh"
#include "cuda/spmv/lanes.cuh"

namespace tulle::cuda {
namespace {

template <int Lanes, class T, class O>
__global__ void csr_warp_shared_kernel(csr_view<T, O> a, const T* __restrict__ x, scale_and_store<T> store) {
  extern __shared__ unsigned char raw[];
  T* const partial = reinterpret_cast<T*>(raw);
  const int lane = threadIdx.x % Lanes;
  const std::int64_t row = grid_thread() / Lanes;
  T sum{0};
  if (row < a.rows) sum = sum_share<Lanes>(a, row, lane, x);
  partial[threadIdx.x] = sum;
  __syncwarp();
#pragma unroll
  for (int d = Lanes / 2; d > 0; d /= 2) {
    if (lane < d) partial[threadIdx.x] = add(partial[threadIdx.x], partial[threadIdx.x + d]);
    __syncwarp();
  }
  if (lane == 0 && row < a.rows) store(static_cast<index_t>(row), partial[threadIdx.x]);
}

template <class T, class O>
class csr_warp_shared final : public csr_operator<T, O> {
 public:
  csr_warp_shared(const context& ctx, csr_view<T, O> a, const csr_stats& s, const spmv_options& o)
      : csr_operator<T, O>(ctx, a, pick_block_size(o)), lanes_(pick_lanes(s, o)) {}
  [[nodiscard]] std::string parameters() const override {
    return device_operator<T>::parameters() + " lanes=" + std::to_string(lanes_);
  }

 private:
  void run(scale_and_store<T> store, const T* x, cudaStream_t stream) override {
    with_lanes(lanes_, [&]<int Lanes>() {
      launch("csr.warp_shared", csr_warp_shared_kernel<Lanes, T, O>,
             threads_for(std::int64_t{this->a_.rows} * Lanes, this->block_size_, this->block_size_ * sizeof(T)), stream,
             this->a_, x, store);
    });
  }

  int lanes_;
};

}  // namespace

spmv_kernel csr_warp_shared_entry() {
  return {
      .name = "csr.warp_shared",
      .summary = "1 to 32 lanes per row, partial sums in shared memory",
      .backend = backend_kind::cuda,
      .types = type_set::all,
      .role = kernel_role::study,
      .needs_set_up = false,
      .has = {.many = true},
      .listens_to = {.block_size = true, .lanes = true},
      .make = make_operator<csr_warp_shared, type_set::all>,
  };
}

}  // namespace tulle::cuda
