// csr.thread: scalar CSR (Bell and Garland, SC 2009, "CSR scalar").
// A thread computes one row: it walks the row's entries in order and keeps the sum in a register.
// Bytes per nonzero: sizeof(T) + 4; plus 2 offsets and one y per row. Neighbouring threads read entries one row length
// apart, so lines are shared through L1, and loads may allocate there.
// Chosen for small integer matrices of very short rows (no lane idles, nothing is reduced), and by policy `simple`.
#include "cuda/spmv/csr_operator.cuh"

namespace tulle::cuda {
namespace {

template <class T, class O>
__global__ void csr_thread_kernel(csr_view<T, O> a, const T* __restrict__ x, scale_and_store<T> store) {
  const std::int64_t row = grid_thread();
  if (row >= a.rows) return;
  const O end = a.rowptr[row + 1];
  T sum{0};
#pragma unroll 4
  for (O k = a.rowptr[row]; k < end; ++k) sum = multiply_add(__ldg(a.values + k), __ldg(x + __ldg(a.colind + k)), sum);
  store(static_cast<index_t>(row), sum);
}

template <class T, class O>
class csr_thread final : public csr_operator<T, O> {
 public:
  csr_thread(const context& ctx, csr_view<T, O> a, const csr_stats&, const spmv_options& o)
      : csr_operator<T, O>(ctx, a, pick_block_size(o)) {}

 private:
  void run(scale_and_store<T> store, const T* x, cudaStream_t stream) override {
    launch("csr.thread", csr_thread_kernel<T, O>, threads_for(this->a_.rows, this->block_size_), stream, this->a_, x,
           store);
  }
};

}  // namespace

spmv_kernel csr_thread_entry() {
  return {
      .name = "csr.thread",
      .summary = "one thread per row",
      .backend = backend_kind::cuda,
      .types = type_set::all,
      .needs_set_up = false,
      .has = {.many = true, .finish = true},
      .listens_to = {.block_size = true},
      .make = make_operator<csr_thread, type_set::all>,
  };
}

}  // namespace tulle::cuda
