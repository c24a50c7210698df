// A x stored, with dot products, or as a Jacobi step: for kernels that take any epilogue (cuda/device/epilogue.cuh).
#pragma once

#include <tulle/core/buffer.hpp>

#include "cuda/spmv/csr_operator.cuh"

namespace tulle::cuda {

/// The memory of dot_shares, and what adds them up.
class dot_workspace {
 public:
  dot_workspace() = default;
  /// For launches of `blocks` blocks and slots for `shared_rows` rows that blocks share.
  dot_workspace(const context& ctx, std::int64_t blocks, std::int64_t shared_rows);

  [[nodiscard]] dot_shares view() { return {share_.data(), blocks_, count_, arrived_.data()}; }
  /// What is left to do behind a launch.
  void add_up(const dot_results& dots, cudaStream_t stream);
  [[nodiscard]] std::size_t bytes() const noexcept { return share_.bytes() + arrived_.bytes(); }

 private:
  std::int64_t blocks_ = 0;
  std::int64_t count_ = 0;
  bool has_clusters_ = false;
  buffer<double> share_;
  buffer<unsigned> arrived_;  // empty where the last block does not add up
};

/// Self has start(epilogue, x, stream), which launches blocks() blocks, and sets dots_. Base: device_operator or
/// csr_operator.
template <class Self, class Base>
class fused_operator : public Base {
 public:
  using T = typename Base::value_type;
  using Base::Base;

  void apply_dots(double alpha, const void* x, double beta, void* y, const void* w, const vector_ref& dots,
                  stream_view stream) final {
    if constexpr (std::is_floating_point_v<T>) {
      const device_guard guard(this->device_);
      const dot_results results{dots.data, dots.type == scalar_type::f64};
      if (self().blocks() == 0) return set_to_zero(dots, native(stream));
      const scale_and_store<T> store{static_cast<T>(alpha), static_cast<T>(beta), static_cast<T*>(y), this->places_};
      self().start(store_with_dots<T>{store, static_cast<const T*>(w), results, dots_.view()}, static_cast<const T*>(x),
                   native(stream));
      dots_.add_up(results, native(stream));
    } else {
      Base::apply_dots(alpha, x, beta, y, w, dots, stream);
    }
  }
  void apply_jacobi(double omega, const void* x, const void* b, const void* inverse_diagonal, void* y,
                    stream_view stream) final {
    if constexpr (std::is_floating_point_v<T>) {
      const device_guard guard(this->device_);
      self().start(jacobi_step<T>{static_cast<T>(omega), static_cast<const T*>(x), static_cast<const T*>(b),
                                  static_cast<const T*>(inverse_diagonal), static_cast<T*>(y), this->places_},
                   static_cast<const T*>(x), native(stream));
    } else {
      Base::apply_jacobi(omega, x, b, inverse_diagonal, y, stream);
    }
  }

 protected:
  dot_workspace dots_;

 private:
  static void set_to_zero(const vector_ref& dots, cudaStream_t stream) {
    check(cudaMemsetAsync(dots.data, 0, 2 * size_of(dots.type), stream), "cudaMemsetAsync", status::cuda_memcpy);
  }
  Self& self() { return static_cast<Self&>(*this); }
  void run(scale_and_store<T> store, const T* x, cudaStream_t stream) final { self().start(store, x, stream); }
};

}  // namespace tulle::cuda
