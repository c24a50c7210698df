#include <utility>

#include "cuda/runtime/device_guard.hpp"
#include "gpu_loop.hpp"
#include "packed_rows.hpp"
#include "step.cuh"

namespace cardiac {
namespace {

using namespace tulle;

template <bool Reacts>
void pass(const context& ctx, const buffer<double>& from, double* to, float* narrow, const reaction& all,
          const double* before) {
  cuda::launch("cardiac.pass", pass_over_cells<Reacts>, cuda::threads_for(static_cast<std::int64_t>(from.size())),
               cuda::native(ctx), static_cast<index_t>(from.size()), from.data(), to, narrow, all, before);
}

class gpu_loop final : public loop {
 public:
  gpu_loop(const context& ctx, const csr<double>& a) : ctx_(ctx), matrix_(ctx, a) {
    const auto n = static_cast<std::size_t>(a.rows);
    for (buffer<double>* b : {&u_, &v_, &gates_}) *b = buffer<double>(ctx, n);
  }
  void start(const std::vector<double>& u, const loop_options& options) override {
    options_ = options;
    u_ = to_buffer(ctx_, u);
    vector_ops(ctx_).fill(1, gates_);
    if (options.times) times_ = to_buffer(ctx_, first_times(u));
    const bool narrow = options.vectors != hand_over::cast && options.vectors != hand_over::fused;
    u32_ = narrow ? to_buffer(ctx_, std::vector<float>(u.begin(), u.end())) : buffer<float>();
    v32_ = options.vectors == hand_over::both ? buffer<float>(ctx_, u.size()) : buffer<float>();
  }
  void step(double now) override {
    const cuda::device_guard guard(ctx_.device());
    const activation_clock clock{now, options_.dt, options_.times ? times_.data() : nullptr};
    const reaction all{membrane(options_.dt), gates_.data(), clock};
    const vector_pair pair{u_.data(), u32_.data()};
    switch (options_.vectors) {
      case hand_over::copy:
        product(pair, store_sum{v_.data(), nullptr});
        return hand_on(all, u_.data(), u32_.data());
      case hand_over::cast:
        product(cast_vector{u_.data()}, store_sum{v_.data(), nullptr});
        if (options_.membrane) hand_on(all, v_.data(), nullptr);
        break;
      case hand_over::both:
        product(pair, store_sum{v_.data(), v32_.data()});
        if (options_.membrane) hand_on(all, v_.data(), v32_.data());
        std::swap(u32_, v32_);
        break;
      case hand_over::swap:
        product(pair, store_sum{v_.data(), nullptr});
        hand_on(all, options_.membrane ? v_.data() : nullptr, u32_.data());
        break;
      case hand_over::fused:
        if (options_.membrane) {
          product(whole_vector{u_.data()}, react_and_store{all, u_.data(), v_.data()});
        } else {
          product(whole_vector{u_.data()}, store_sum{v_.data(), nullptr});
        }
    }
    std::swap(u_, v_);
  }
  [[nodiscard]] std::vector<double> potential() const override { return to_vector(ctx_, u_); }
  [[nodiscard]] std::vector<double> activation() const override { return to_vector(ctx_, times_); }
  [[nodiscard]] std::string stored_as() const override { return matrix_.parameters(); }
  [[nodiscard]] std::size_t matrix_bytes() const override { return matrix_.bytes(); }

 private:
  template <class X, class Epilogue>
  void product(const X& x, const Epilogue& epilogue) {
    const cuda::packed_pattern a = matrix_.pattern();
    // Where a membrane is behind slices of floats, more warps hide more than more registers do.
    const auto kernel = std::is_same_v<Epilogue, react_and_store> && matrix_.has_floats()
                            ? product_kernel<many_resident, X, Epilogue>
                            : product_kernel<few_resident, X, Epilogue>;
    cuda::launch("cardiac.product", kernel, cuda::threads_for(a.slices * 32, step_threads), cuda::native(ctx_), a,
                 matrix_.values(), x, epilogue);
  }
  /// From y, with the membrane's step where there is one.
  void hand_on(const reaction& all, double* to, float* narrow) {
    if (options_.membrane) {
      pass<true>(ctx_, v_, to, narrow, all, u_.data());
    } else {
      pass<false>(ctx_, v_, to, narrow, all, nullptr);
    }
  }

  context ctx_;
  packed_rows matrix_;
  loop_options options_;
  buffer<double> u_, v_, gates_, times_;  // x, y
  buffer<float> u32_, v32_;
};

}  // namespace

std::unique_ptr<loop> make_gpu_loop(const context& ctx, const csr<double>& a) {
  return std::make_unique<gpu_loop>(ctx, a);
}

void react_on_gpu(const context& ctx, const reaction& all, buffer<double>& u, const buffer<double>& before) {
  const cuda::device_guard guard(ctx.device());
  pass<true>(ctx, u, u.data(), nullptr, all, before.data());
}

}  // namespace cardiac
