// A x stored, with dot products, or as a Jacobi step: for kernels that take any epilogue (cuda/device/epilogue.cuh).
#pragma once

#include <algorithm>
#include <cstdlib>
#include <tulle/core/buffer.hpp>

#include "cuda/spmv/csr_operator.cuh"

namespace tulle::cuda {

/// The memory of dot_shares.
class dot_workspace {
 public:
  dot_workspace() = default;
  /// For launches of `blocks` blocks and slots for `shared_rows` rows that blocks share.
  dot_workspace(const context& ctx, std::int64_t blocks, std::int64_t shared_rows)
      : shared_rows_(shared_rows), count_(blocks + shared_rows) {
    const std::int64_t most_groups = std::clamp(ctx.info().multiprocessors - 1, 1, 128);
    while (ceil_div(blocks, together_) > most_groups) together_ *= 2;
    share_ = buffer<double>(ctx, 2 * static_cast<std::size_t>(count_ + ceil_div(blocks, together_)));
    constexpr std::size_t pair = 2 * sizeof(double);
    fill_bytes(ctx, share_.data(), memory_space::device, 0xff, share_.bytes());  // missing
    fill_bytes(ctx, share_.data() + 2 * blocks, memory_space::device, 0, pair * static_cast<std::size_t>(shared_rows));
  }

  [[nodiscard]] dot_shares view() { return {share_.data(), count_, shared_rows_, together_}; }
  /// From now on nobody adds up but who reads the view.
  void leave(bool behind) {
    together_ = 0;
    behind_ = behind;
  }
  /// Whether what is launched for it may start before the kernel in front of it ends.
  [[nodiscard]] bool behind() const { return behind_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return share_.bytes(); }

 private:
  unsigned together_ = std::getenv("TULLE_DOTS_GROUP") ? static_cast<unsigned>(std::atoi(std::getenv("TULLE_DOTS_GROUP"))) : 1024;
  std::int64_t shared_rows_ = 0;
  std::int64_t count_ = 0;
  bool behind_ = false;
  buffer<double> share_;
};

/// What can leave the shares of its dot products to the kernel behind it.
class leaves_dot_shares {
 public:
  /// From now on apply_dots does not write its results: they are the sums of these pairs.
  virtual dot_shares leave_dot_shares(bool behind) = 0;

 protected:
  ~leaves_dot_shares() = default;
};

/// Self has start(epilogue, x, stream), which launches blocks() blocks, and sets dots_. Base: device_operator or
/// csr_operator.
template <class Self, class Base>
class fused_operator : public Base, public leaves_dot_shares {
 public:
  using T = typename Base::value_type;
  using Base::Base;

  void apply_dots(double alpha, const void* x, double beta, void* y, const void* w, const vector_ref& dots,
                  stream_view stream) final {
    if constexpr (std::is_floating_point_v<T>) {
      const device_guard guard(this->device_);
      if (self().blocks() == 0) return set_to_zero(dots, native(stream));
      const scale_and_store<T> store{static_cast<T>(alpha), static_cast<T>(beta), static_cast<T*>(y),
                                     static_cast<const T*>(y), this->places_};
      const dot_results results{dots.data, dots.type == scalar_type::f64};
      self().start(store_with_dots<T>{store, static_cast<const T*>(w), results, dots_.view()}, static_cast<const T*>(x),
                   native(stream));
    } else {
      Base::apply_dots(alpha, x, beta, y, w, dots, stream);
    }
  }
  dot_shares leave_dot_shares(bool behind) final {
    dots_.leave(behind);
    return dots_.view();
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
  /// For kernels that await the grid before them where dot products are theirs.
  template <class Epilogue, class... Parameters, class... Args>
  void launch_product(const char* name, void (*kernel)(Parameters...), launch_shape shape, cudaStream_t stream,
                      const Args&... args) const {
    if (std::is_same_v<Epilogue, store_with_dots<T>> && dots_.behind()) {
      return launch_behind(name, kernel, shape, 1, stream, args...);
    }
    launch(name, kernel, shape, stream, args...);
  }
  dot_workspace dots_;

 private:
  static void set_to_zero(const vector_ref& dots, cudaStream_t stream) {
    check(cudaMemsetAsync(dots.data, 0, 2 * size_of(dots.type), stream), "cudaMemsetAsync", status::cuda_memcpy);
  }
  Self& self() { return static_cast<Self&>(*this); }
  void run(scale_and_store<T> store, const T* x, cudaStream_t stream) final { self().start(store, x, stream); }
};

}  // namespace tulle::cuda
