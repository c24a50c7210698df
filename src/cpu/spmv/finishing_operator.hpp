// apply, apply_dots and apply_jacobi for a kernel whose multiplication takes any of the ends in finish.hpp.
#pragma once

#include <span>
#include <vector>

#include "cpu/spmv/finish.hpp"
#include "kernels/spmv.hpp"

namespace tulle::cpu {

/// Derived has `multiply(Finish start, const T* x, done)`: every share copies `start`, hands it its
/// rows and calls done(share, finish).
template <class Derived, scalar T>
class finishing_operator : public spmv_operator {
 public:
  void apply(double alpha, const void* x, double beta, void* y, stream_view) override {
    self().multiply(scaled<T>{{alpha, beta}, static_cast<T*>(y), order_}, static_cast<const T*>(x), [](int, const auto&) {});
  }

  /// The shares are added in their order: the same bits in every run.
  void apply_dots(double alpha, const void* x, double beta, void* y, const void* w, const vector_ref& dots,
                  stream_view) override {
    const scaled_dots<T> start{{alpha, beta}, static_cast<T*>(y), static_cast<const T*>(w), order_, {}, {}};
    self().multiply(start, static_cast<const T*>(x), [this](int share, const auto& finish) {
      dots_[static_cast<std::size_t>(share)] = finish.total();
    });
    dot_pair<T> sum;
    for (const dot_pair<T>& d : dots_) sum += d;
    if (dots.type == scalar_type_of<T>)
      set<T>(dots.data, sum);
    else
      set<double>(dots.data, sum);
  }

  void apply_jacobi(double omega, const void* x, const void* b, const void* inverse_diagonal, void* y,
                    stream_view stream) override {
    if constexpr (std::same_as<T, std::int32_t>) {
      spmv_operator::apply_jacobi(omega, x, b, inverse_diagonal, y, stream);
    } else {
      const auto of = [](const void* v) { return static_cast<const T*>(v); };
      const jacobi_step<T> start{static_cast<T>(omega), of(x), of(b), of(inverse_diagonal), static_cast<T*>(y), order_};
      self().multiply(start, of(x), [](int, const auto&) {});
    }
  }
  bool store_in_order(const index_t* order) override {
    order_ = order;
    return true;
  }

 protected:
  explicit finishing_operator(int shares) : dots_(static_cast<std::size_t>(shares)) {}

 private:
  template <class D>
  static void set(void* dots, const dot_pair<T>& sum) {
    static_cast<D*>(dots)[0] = static_cast<D>(sum.wy);
    static_cast<D*>(dots)[1] = static_cast<D>(sum.yy);
  }
  Derived& self() { return static_cast<Derived&>(*this); }

  std::vector<dot_pair<T>> dots_;
  const index_t* order_ = nullptr;
};

}  // namespace tulle::cpu
