#include "loop.hpp"

#include <limits>
#include <stdexcept>
#include <utility>

#include "core/parallel.hpp"
#include "gpu_loop.hpp"

namespace cardiac {

std::string name_of(hand_over vectors) {
  constexpr const char* names[] = {"copy", "cast", "both", "swap", "fused"};
  return names[static_cast<std::size_t>(vectors)];
}

std::vector<double> first_times(const std::vector<double>& u) {
  std::vector<double> times(u.size(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 0; i < u.size(); ++i) {
    if (u[i] >= activated) times[i] = 0;
  }
  return times;
}

namespace {

using namespace tulle;

// Where CUDA is not built nothing of it is defined, and what `if constexpr` discards is not asked for.
#ifdef CARDIAC_HAS_CUDA
constexpr bool has_cuda = true;
#else
constexpr bool has_cuda = false;
#endif

bool is_gpu(const context& ctx) { return ctx.backend() == backend_kind::cuda; }

/// What all loops through the library's own operations have.
class library_loop : public loop {
 public:
  library_loop(const context& ctx, index_t cells) : ctx_(ctx), cells_(cells) {
    const auto n = static_cast<std::size_t>(cells);
    for (buffer<double>* b : {&u_, &v_, &h_}) *b = buffer<double>(ctx, n);
  }
  void start(const std::vector<double>& u, const loop_options& options) override {
    options_ = options;
    u_ = to_buffer(ctx_, u);
    h_ = to_buffer(ctx_, std::vector<double>(u.size(), 1));
    if (options.times) times_ = to_buffer(ctx_, first_times(u));
  }
  [[nodiscard]] std::vector<double> potential() const override { return to_vector(ctx_, u_); }
  [[nodiscard]] std::vector<double> activation() const override { return to_vector(ctx_, times_); }

 protected:
  void react(buffer<double>& u, const buffer<double>& before, double now) {
    if (!options_.membrane) return;
    const reaction all{membrane(options_.dt), h_.data(), {now, options_.dt, options_.times ? times_.data() : nullptr}};
    if constexpr (has_cuda) {
      if (is_gpu(ctx_)) return react_on_gpu(ctx_, all, u, before);
    }
    // By the library's own threads: those of OpenMP would wait on the cores that the next product wants.
    parallel_for(threads_for(ctx_.threads(), cells_), cells_,
                 [&](index_t i) { u.data()[i] = all(i, before.data()[i], u.data()[i], h_.data()[i]); });
  }
  context ctx_;
  loop_options options_;
  index_t cells_;
  buffer<double> u_, v_, h_, times_;
};

class explicit_loop final : public library_loop {
 public:
  explicit_loop(const context& ctx, const csr<double>& a)
      : library_loop(ctx, a.rows), plan_(ctx, matrix_ref(a.view()), plan_options()) {}
  void step(double now) override {
    plan_.apply(1, u_, 0, v_);
    react(v_, u_, now);
    std::swap(u_, v_);
  }
  [[nodiscard]] std::string stored_as() const override {
    return std::string(plan_.kernel()) + " " + plan_.parameters();
  }
  [[nodiscard]] std::size_t matrix_bytes() const override { return plan_.matrix_bytes(); }

 private:
  /// A promise that rows of floats keep as f32, and others as f64 alone.
  static spmv_options plan_options() {
    spmv_options options;
    options.values = {1e-14, error_bound::row};
    return options;
  }
  any_spmv_plan plan_;
};

class implicit_loop final : public library_loop {
 public:
  implicit_loop(const context& ctx, const csr<double>& a)
      : library_loop(ctx, a.rows), solver_(ctx, matrix_ref(a.view()), solver_options()) {}
  void step(double now) override {
    copy_bytes(ctx_, v_.data(), ctx_.space(), u_.data(), ctx_.space(), u_.bytes());  // the first guess
    if (!solver_.solve(u_, v_).converged()) throw error(status::not_converged, "conjugate gradients did not converge");
    react(v_, u_, now);
    std::swap(u_, v_);
  }
  [[nodiscard]] std::string stored_as() const override { return std::string(solver_.kernel()); }
  [[nodiscard]] std::size_t matrix_bytes() const override { return solver_.workspace_bytes(); }

 private:
  static cg_options solver_options() {
    cg_options options;
    options.rtol = 1e-9;
    return options;
  }
  cg_solver solver_;
};

}  // namespace

std::unique_ptr<loop> make_implicit_loop(const context& ctx, const csr<double>& a) {
  return std::make_unique<implicit_loop>(ctx, a);
}
std::unique_ptr<loop> make_loop(const context& ctx, const csr<double>& a) {
  if constexpr (has_cuda) {
    if (is_gpu(ctx)) return make_gpu_loop(ctx, a);
  }
  return std::make_unique<explicit_loop>(ctx, a);
}

}  // namespace cardiac
