// What the CUDA operators share: the borrowed matrix and the block size.
#pragma once

#include <string>

#include "cuda/device/epilogue.cuh"
#include "cuda/device/grid.cuh"
#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/launch.cuh"
#include "cuda/spmv/csr_many.cuh"
#include "kernels/spmv.hpp"

namespace tulle::cuda {

/// Sets the device and gives the arguments their types for `run`.
template <class T>
class device_operator : public spmv_operator {
 public:
  using value_type = T;

  device_operator(const context& ctx, int block_size) : device_(ctx.device()), block_size_(block_size) {}

  void apply(double alpha, const void* x, double beta, void* y, stream_view stream) final {
    apply_from(alpha, x, beta, y, y, stream);
  }
  /// y = alpha A x + beta from.
  void apply_from(double alpha, const void* x, double beta, const void* from, void* y, stream_view stream) {
    const device_guard guard(device_);
    run(scale_and_store<T>{static_cast<T>(alpha), static_cast<T>(beta), static_cast<T*>(y), static_cast<const T*>(from),
                           places_},
        static_cast<const T*>(x), native(stream));
  }
  bool store_in_order(const index_t* order, bool x_too) override {
    places_ = {order, x_too};
    return true;
  }
  [[nodiscard]] std::string parameters() const override { return "block_size=" + std::to_string(block_size_); }

 protected:
  virtual void run(scale_and_store<T> store, const T* x, cudaStream_t stream) = 0;

  int device_;
  int block_size_;
  row_places places_;
};

/// A device_operator that borrows the CSR; several right-hand sides go through csr_many.
template <class T, class O>
class csr_operator : public device_operator<T> {
 public:
  csr_operator(const context& ctx, csr_view<T, O> a, int block_size)
      : device_operator<T>(ctx, block_size), a_(a), multiprocessors_(ctx.info().multiprocessors) {}

  void apply_many(double alpha, const strided_vectors& x, double beta, const strided_vectors& y,
                  stream_view stream) override {
    apply_many_with(alpha, x, beta, y, {}, stream);
  }
  void apply_many_with(double alpha, const strided_vectors& x, double beta, const strided_vectors& y,
                       const many_finish& finish, stream_view stream) override {
    const device_guard guard(this->device_);
    many_in_place(x, {alpha, beta, y, many_epilogue<T>(finish)}, /*behind=*/false, native(stream));
  }
  void update_values(const matrix_ref& a) override { a_ = a.as<T, O>(); }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return 0; }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override {
    return static_cast<std::size_t>(a_.nnz) * (sizeof(T) + sizeof(index_t)) +
           (static_cast<std::size_t>(a_.rows) + 1) * sizeof(O);
  }

 protected:
  void many_in_place(const strided_vectors& x, const scale_and_store_many<T>& store, bool behind, cudaStream_t stream) {
    csr_many(a_, x, store, multiprocessors_, behind, stream);
  }

  csr_view<T, O> a_;
  int multiprocessors_;
};

/// Calls f.operator()<V>() for the first of the ascending Values that is not below `value`; the last where none is.
template <int First, int... Rest, class F>
void with_constant(int value, F&& f) {
  if constexpr (sizeof...(Rest) > 0) {
    if (value > First) return with_constant<Rest...>(value, f);
  }
  f.template operator()<First>();
}

constexpr int pick_block_size(const spmv_options& o, int otherwise = block_threads) {
  return o.block_size > 0 ? o.block_size : otherwise;
}

}  // namespace tulle::cuda
