// ell: ELLPACK (Bell and Garland, SC 2009), column-major, one thread per row.
// A thread walks the slots of its row; neighbouring threads read neighbouring slots. Padding (column -1) never
// touches x.
// Bytes per slot: sizeof(T) + 4; plus one y per row; no offsets.
// Chosen where all rows have nearly the same length and it is predicted to be the fastest (plan/spmv_terms_cuda.hpp), and
// by policy `simple`.
#include <tulle/formats/convert.hpp>

#include "cuda/device/load.cuh"
#include "cuda/spmv/csr_operator.cuh"
#include "cuda/spmv/supports.hpp"

namespace tulle::cuda {
namespace {

template <class T>
__global__ void ell_kernel(ell_view<T> a, const T* __restrict__ x, scale_and_store<T> store) {
  const std::int64_t row = grid_thread();
  if (row >= a.rows) return;
  const index_t* colind = a.colind + row;
  const T* values = a.values + row;
  T sum{0};
#pragma unroll 8
  for (index_t s = 0; s < a.width; ++s) {
    const std::int64_t slot = std::int64_t{s} * a.rows;
    const index_t column = load_stream(colind + slot);
    const T value = load_stream(values + slot);
    if (column >= 0) sum = multiply_add(value, __ldg(x + column), sum);
  }
  store(static_cast<index_t>(row), sum);
}

template <class T, class O>
class ell_operator final : public device_operator<T> {
 public:
  ell_operator(const context& ctx, csr_view<T, O> a, const csr_stats&, const spmv_options& o)
      : device_operator<T>(ctx, pick_block_size(o)),
        ctx_(ctx),
        a_(to_ell(ctx, a, std::numeric_limits<double>::infinity())) {}
  void update_values(const matrix_ref& a) override { tulle::update_values(ctx_, a.as<T, O>(), a_); }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return matrix_bytes(); }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override { return a_.colind.bytes() + a_.values.bytes(); }

 private:
  void run(scale_and_store<T> store, const T* x, cudaStream_t stream) override {
    launch("ell", ell_kernel<T>, threads_for(a_.rows, this->block_size_), stream, a_.view(), x, store);
  }

  context ctx_;
  ell<T> a_;
};

}  // namespace

spmv_kernel ell_entry() {
  return {
      .name = "ell",
      .summary = "ELLPACK, one thread per row",
      .backend = backend_kind::cuda,
      .types = type_set::floating,
      .listens_to = {.block_size = true},
      .supports = supports_ell,
      .make = make_operator<ell_operator, type_set::floating>,
  };
}

}  // namespace tulle::cuda
