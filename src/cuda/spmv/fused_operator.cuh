// A x stored, with dot products, or as a Jacobi step: for kernels that take any epilogue (cuda/device/epilogue.cuh).
#pragma once

#include <tulle/core/buffer.hpp>

#include "cuda/spmv/csr_operator.cuh"

namespace tulle::cuda {

/// The memory of dot_shares for launches of `blocks` blocks and slots for `shared_rows` rows that blocks share.
template <class T>
class dot_workspace {
 public:
  dot_workspace() = default;
  dot_workspace(const context& ctx, std::int64_t blocks, std::int64_t shared_rows) {
    const auto groups = std::int64_t{dot_shares<T>::groups(static_cast<unsigned>(blocks))};
    share_ = buffer<T>(ctx, static_cast<std::size_t>(2 * (blocks + groups + shared_rows)));
    arrived_ = buffer<unsigned>(ctx, static_cast<std::size_t>(2 + groups));
    fill_bytes(ctx, share_.data(), memory_space::device, 0, share_.bytes());
    fill_bytes(ctx, arrived_.data(), memory_space::device, 0, arrived_.bytes());
  }
  [[nodiscard]] dot_shares<T> view() { return {share_.data(), arrived_.data()}; }
  [[nodiscard]] std::size_t bytes() const noexcept { return share_.bytes() + arrived_.bytes(); }

 private:
  buffer<T> share_;
  buffer<unsigned> arrived_;
};

/// Self has start(epilogue, x, stream), which launches blocks() blocks, and sets dots_. Base: device_operator or
/// csr_operator.
template <class Self, class Base>
class fused_operator : public Base {
 public:
  using T = typename Base::value_type;
  using Base::Base;

  void apply_dots(double alpha, const void* x, double beta, void* y, const void* w, void* dots,
                  stream_view stream) final {
    if constexpr (std::is_floating_point_v<T>) {
      const device_guard guard(this->device_);
      if (self().blocks() == 0) check(cudaMemsetAsync(dots, 0, 2 * sizeof(T), native(stream)), "cudaMemsetAsync");
      const scale_and_store<T> store{static_cast<T>(alpha), static_cast<T>(beta), static_cast<T*>(y)};
      self().start(store_with_dots<T>{store, static_cast<const T*>(w), static_cast<T*>(dots), dots_.view()},
                   static_cast<const T*>(x), native(stream));
    } else {
      Base::apply_dots(alpha, x, beta, y, w, dots, stream);
    }
  }
  void apply_jacobi(double omega, const void* x, const void* b, const void* inverse_diagonal, void* y,
                    stream_view stream) final {
    if constexpr (std::is_floating_point_v<T>) {
      const device_guard guard(this->device_);
      self().start(jacobi_step<T>{static_cast<T>(omega), static_cast<const T*>(x), static_cast<const T*>(b),
                                  static_cast<const T*>(inverse_diagonal), static_cast<T*>(y)},
                   static_cast<const T*>(x), native(stream));
    } else {
      Base::apply_jacobi(omega, x, b, inverse_diagonal, y, stream);
    }
  }

 protected:
  dot_workspace<T> dots_;

 private:
  Self& self() { return static_cast<Self&>(*this); }
  void run(scale_and_store<T> store, const T* x, cudaStream_t stream) final { self().start(store, x, stream); }
};

}  // namespace tulle::cuda
