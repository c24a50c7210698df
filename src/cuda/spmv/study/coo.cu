// coo: segmented sum over coordinates (Bell and Garland, SC 2009, "COO"), with carries in a fixed order.
// One launch scales y; in a second one a thread multiplies one entry, and products are summed by row as in csr.value.
// Bytes per nonzero: sizeof(T) + 8; plus y twice per row.
// Part of the kernel study: never the fastest where there is a CSR.
#include <tulle/formats/convert.hpp>

#include "cuda/spmv/study/nonzero_tiles.cuh"

namespace tulle::cuda {
namespace {

struct stored_rows {
  const index_t* rowind;

  __device__ index_t first(std::int64_t tile) const { return rowind[tile * blockDim.x]; }
  __device__ index_t of(std::int64_t k, std::int64_t) const { return rowind[k]; }
  __device__ bool goes_on(std::int64_t tile) const { return tile > 0 && rowind[tile * blockDim.x - 1] == first(tile); }
};

template <class T>
struct add_to_row {
  scale_and_store<T> store;
  __device__ void operator()(index_t row, T sum) const { store.add_to(row, sum); }
};

template <class T>
__global__ void scale_kernel(index_t rows, scale_and_store<T> store) {
  const std::int64_t row = grid_thread();
  if (row < rows) store(static_cast<index_t>(row), T{0});
}

template <class T>
__global__ void coo_kernel(coo_view<T> a, const T* __restrict__ x, T* head, scale_and_store<T> store) {
  sum_nonzero_tile(stored_rows{a.rowind}, a.nnz, a.colind, a.values, x, head, add_to_row<T>{store});
}

template <class T, class O>
class coo_operator final : public device_operator<T> {
 public:
  coo_operator(const context& ctx, csr_view<T, O> a, const csr_stats&, const spmv_options& o)
      : device_operator<T>(ctx, pick_block_size(o)),
        ctx_(ctx),
        a_(to_coo(ctx, a)),
        carries_(ctx, static_cast<std::int32_t>(ceil_div(a_.nnz(), this->block_size_))) {
    find_cut_rows(ctx, a, this->block_size_, carries_);
  }
  void update_values(const matrix_ref& a) override {
    copy_bytes(ctx_, a_.values.data(), memory_space::device, a.values, a.space, a_.values.bytes());
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return matrix_bytes(); }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override {
    return a_.rowind.bytes() + a_.colind.bytes() + a_.values.bytes() + carries_.bytes();
  }

 private:
  void run(scale_and_store<T> store, const T* x, cudaStream_t stream) override {
    launch("coo scale", scale_kernel<T>, threads_for(a_.rows), stream, a_.rows, store);
    launch("coo", coo_kernel<T>, {carries_.tiles(), this->block_size_}, stream, a_.view(), x, carries_.head(), store);
    carries_.add(store, stream);
  }

  context ctx_;
  coo<T> a_;
  carries<T> carries_;
};

}  // namespace

spmv_kernel coo_entry() {
  return {
      .name = "coo",
      .summary = "segmented sums over coordinates",
      .backend = backend_kind::cuda,
      .types = type_set::floating,
      .role = kernel_role::study,
      .listens_to = {.block_size = true},
      .make = make_operator<coo_operator, type_set::floating>,
  };
}

}  // namespace tulle::cuda
