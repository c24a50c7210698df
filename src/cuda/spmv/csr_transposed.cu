// csr.transposed: y = alpha A^T x + beta y from the CSR of A, without a copy of the matrix.
// One launch makes y = beta y (beta = 0 does not read y). In a second one a warp takes 256 consecutive nonzeros,
// whatever their rows; a lane finds the row of each of its nonzeros by bisection among the warp's rows and adds alpha
// a_ij x_i to y_j by an atomic. Bytes per nonzero: sizeof(T) + 4 and one atomic in L2; plus one offset and one x per
// row and 2 y per column. Chosen for a transposed plan at effort none. The order of the atomics varies: floating-point
// results keep their error bound but may differ in the last bits from run to run (those of i32 do not).
#include "cuda/device/load.cuh"
#include "cuda/device/search.cuh"
#include "cuda/spmv/csr_operator.cuh"
#include "cuda/spmv/many_vectors.cuh"
#include "kernels/backends.hpp"

namespace tulle::cuda {
namespace {

constexpr int warp_nonzeros = 256;

__device__ __forceinline__ void atomic_add(float* y, float v) { atomicAdd(y, v); }
__device__ __forceinline__ void atomic_add(double* y, double v) { atomicAdd(y, v); }
__device__ __forceinline__ void atomic_add(std::int32_t* y, std::int32_t v) {
  atomicAdd(reinterpret_cast<unsigned*>(y), static_cast<unsigned>(v));
}

template <class T>
__global__ void scale_kernel(index_t size, index_t count, T beta, typed_vectors<T> y) {
  const std::int64_t item = grid_thread();
  if (item >= std::int64_t{size} * count) return;
  T* const at = y.at(item % size, static_cast<index_t>(item / size));
  *at = beta == T{0} ? T{0} : multiply_add(beta, *at, T{0});
}

template <class T, class O>
__global__ void scatter_kernel(csr_view<T, O> a, index_t count, T alpha, typed_vectors<const T> x, typed_vectors<T> y) {
  const std::int64_t warp = grid_thread() / 32;
  const std::int64_t begin = warp * warp_nonzeros;
  if (begin >= a.nnz) return;
  const std::int64_t end = min(begin + warp_nonzeros, std::int64_t{a.nnz});
  index_t row = row_of(a.rowptr, 0, a.rows, static_cast<O>(begin));
  const index_t end_row = row_of(a.rowptr, row, a.rows, static_cast<O>(end - 1)) + 1;
  for (std::int64_t k = begin + lane_id(); k < end; k += 32) {
    row = row_of(a.rowptr, row, end_row, static_cast<O>(k));
    const T value = load_stream(a.values + k);
    const index_t column = load_stream(a.colind + k);
    for (index_t j = 0; j < count; ++j) {
      const T product = multiply_add(value, __ldg(x.at(row, j)), T{0});
      atomic_add(y.at(column, j), multiply_add(alpha, product, T{0}));
    }
  }
}

template <class T, class O>
class csr_transposed final : public csr_operator<T, O> {
 public:
  csr_transposed(const context& ctx, csr_view<T, O> a, const csr_stats&, const spmv_options& o)
      : csr_operator<T, O>(ctx, a, pick_block_size(o)) {}

  void apply_many(double alpha, const strided_vectors& x, double beta, const strided_vectors& y,
                  stream_view stream) override {
    const device_guard guard(this->device_);
    add_all(static_cast<T>(alpha), x, static_cast<T>(beta), y, native(stream));
  }
  /// Its entry has no `finish`, and the pass that it would inherit multiplies by A.
  void apply_many_with(double alpha, const strided_vectors& x, double beta, const strided_vectors& y,
                       const many_finish& finish, stream_view stream) override {
    spmv_operator::apply_many_with(alpha, x, beta, y, finish, stream);
  }
  bool store_in_order(const index_t*, bool) override { return false; }

 private:
  void run(scale_and_store<T> store, const T* x, cudaStream_t stream) override {
    add_all(store.alpha, {const_cast<T*>(x), 1}, store.beta, {store.y, 1}, stream);
  }

  void add_all(T alpha, const strided_vectors& x, T beta, const strided_vectors& y, cudaStream_t stream) {
    const index_t count = x.count;
    if (beta != T{1}) {
      launch("csr.transposed: beta y", scale_kernel<T>,
             threads_for(std::int64_t{this->a_.cols} * count, this->block_size_), stream, this->a_.cols, count, beta,
             typed_vectors<T>(y));
    }
    if (count == 0) return;
    launch("csr.transposed", scatter_kernel<T, O>,
           threads_for(ceil_div(this->a_.nnz, warp_nonzeros) * 32, this->block_size_), stream, this->a_, count, alpha,
           typed_vectors<const T>(x), typed_vectors<T>(y));
  }
};

}  // namespace

spmv_kernel csr_transposed_entry() {
  return {
      .name = "csr.transposed",
      .summary = "A^T x from the CSR of A: atomics, not bit-reproducible in floating point",
      .backend = backend_kind::cuda,
      .types = type_set::all,
      .needs_set_up = false,
      .deterministic = false,
      .has = {.many = true},
      .listens_to = {.block_size = true},
      .make = make_operator<csr_transposed, type_set::all>,
  };
}

}  // namespace tulle::cuda
