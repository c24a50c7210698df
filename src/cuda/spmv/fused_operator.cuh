// A x stored, with dot products, or as a Jacobi step: for kernels that take any epilogue (cuda/device/epilogue.cuh).
#pragma once

#include <tulle/core/buffer.hpp>

#include "cuda/spmv/csr_operator.cuh"

namespace tulle::cuda {

/// {w . y, y . y} in parts.
struct dot_pairs {
  const double* data = nullptr;
  std::int64_t count = 0;
};

/// The memory of dot_shares, and what adds them up.
class dot_workspace {
 public:
  dot_workspace() = default;
  /// For launches of `blocks` blocks and slots for `shared_rows` rows that blocks share; where there are no slots,
  /// shares may arrive by themselves, and a shared row has the number of its first block.
  dot_workspace(const context& ctx, std::int64_t blocks, std::int64_t shared_rows, bool may_arrive = true);

  [[nodiscard]] dot_shares view();
  /// From now on the sums of groups are left as they are, where shares arrive by themselves.
  dot_pairs leave() {
    left_ = together_ > 0 && count_ > 0;
    if (!left_) return {};
    return {share_.data() + 2 * count_, ceil_div(count_, std::int64_t{together_})};
  }
  /// What is left to do behind a launch.
  void add_up(const dot_results& dots, cudaStream_t stream);
  [[nodiscard]] std::size_t bytes() const noexcept { return share_.bytes(); }

 private:
  unsigned together_ = 0;
  std::int64_t blocks_ = 0;
  std::int64_t count_ = 0;
  bool has_clusters_ = false;
  bool left_ = false;
  buffer<double> share_;
};

/// What can leave a few sums of parts of its dot products to the kernel behind it.
class leaves_dot_pairs {
 public:
  /// From now on apply_dots does not write its results: they are the sums of these pairs. It does where there is none.
  virtual dot_pairs leave_dot_pairs() = 0;

 protected:
  ~leaves_dot_pairs() = default;
};

/// Self has start(epilogue, x, stream), which launches blocks() blocks, and sets dots_. Base: device_operator or
/// csr_operator.
template <class Self, class Base>
class fused_operator : public Base, public leaves_dot_pairs {
 public:
  using T = typename Base::value_type;
  using Base::Base;
  /// Whether blocks add up their shares of dot products, where no rows are shared.
  static constexpr bool shares_arrive = true;

  void apply_dots(double alpha, const void* x, double beta, void* y, const void* w, const vector_ref& dots,
                  stream_view stream) final {
    if constexpr (std::is_floating_point_v<T>) {
      const device_guard guard(this->device_);
      if (self().blocks() == 0) return set_to_zero(dots, native(stream));
      const scale_and_store<T> store{static_cast<T>(alpha), static_cast<T>(beta), static_cast<T*>(y),
                                     static_cast<const T*>(y), this->places_};
      const dot_results results{dots.data, dots.type == scalar_type::f64};
      self().start(store_with_dots<T, Self::shares_arrive>{store, static_cast<const T*>(w), results, dots_.view()},
                   static_cast<const T*>(x), native(stream));
      dots_.add_up(results, native(stream));
    } else {
      Base::apply_dots(alpha, x, beta, y, w, dots, stream);
    }
  }
  dot_pairs leave_dot_pairs() final { return dots_.leave(); }
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
