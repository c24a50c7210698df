// Batches of small systems on a CPU: each is solved by one thread, so that the number of threads does not show, with
// the loop of kernels/cg_direct_loop.hpp. A small system stays in the core's own cache over its iterations.
#include <fmt/format.h>

#include "core/parallel.hpp"
#include "cpu/spmv/rows.hpp"
#include "kernels/backends.hpp"
#include "kernels/cg_direct_loop.hpp"
#include "kernels/types.hpp"

namespace tulle::cpu {
namespace {

constexpr index_t lanes = 8;
constexpr std::int64_t long_row = 16;  // of a CSR, for vector instructions

/// Of f(i) for i < n, in an order that suits vector instructions.
template <class F>
double sum_of(index_t n, const F& f) {
  double part[lanes] = {};
  index_t i = 0;
  for (; i + lanes <= n; i += lanes) {
#pragma omp simd
    for (index_t u = 0; u < lanes; ++u) part[u] += f(i + u);
  }
  for (; i < n; ++i) part[i % lanes] += f(i);
  double sum = 0;
  for (const double v : part) sum += v;
  return sum;
}

/// Values of the inverse diagonal that a row has.
index_t inverse_width(const cg_options& o) {
  switch (o.preconditioner) {
    case preconditioner_kind::jacobi:
      return 1;
    case preconditioner_kind::block_jacobi:
      return o.block;
    default:
      return 0;
  }
}

/// One system, and the vectors of a thread.
template <class T>
class system {
 public:
  system(const batch_problem& problem, const batch_call& call, const batch_system& at, T* vectors)
      : options_(problem.options),
        block_(problem.block),
        rows_(at.rows),
        n_(at.rows * problem.block),
        width_(inverse_width(options_)),
        offsets_(problem.offsets + at.offsets),
        columns_(problem.columns + at.columns),
        path_(at.blocks < long_row * at.rows ? row_path::plain : path_of(best_isa())),
        values_(static_cast<const T*>(call.values) + at.values),
        b_(static_cast<const T*>(call.b) + at.unknowns),
        x_(static_cast<T*>(call.x) + at.unknowns),
        r_(vectors),
        p_(r_ + n_),
        q_(p_ + n_),
        z_(width_ == 0 ? r_ : q_ + n_),
        inverse_(q_ + 2 * std::int64_t{n_}) {
    if (width_ > 0) invert();
  }
  /// Values that the vectors take.
  static std::int64_t size(const batch_problem& problem, const batch_system& at) {
    return std::int64_t{at.rows} * problem.block * (4 + inverse_width(problem.options));
  }

  double rhs() {
    if (options_.zero_guess) forget_guess();
    return std::sqrt(sum_of(n_, [&](index_t i) { return square(b_[i]); }));
  }
  void forget_guess() { std::fill_n(x_, n_, T{0}); }
  [[nodiscard]] std::int64_t broken() const { return broken_; }
  residual_sums residual() {
    multiply(x_, r_);
    for (index_t i = 0; i < n_; ++i) r_[i] = b_[i] - r_[i];
    return precondition();
  }
  void turn(double beta) {
    if (beta == 0) {
      std::copy_n(z_, n_, p_);
      return;
    }
    const T scale = static_cast<T>(beta);
    for (index_t i = 0; i < n_; ++i) p_[i] = z_[i] + scale * p_[i];
  }
  double multiply() {
    multiply(p_, q_);
    return sum_of(n_, [&](index_t i) { return static_cast<double>(p_[i]) * static_cast<double>(q_[i]); });
  }
  static void note(int, double) {}
  residual_sums step(double alpha) {
    const T scale = static_cast<T>(alpha);
#pragma omp simd
    for (index_t i = 0; i < n_; ++i) {
      x_[i] += scale * p_[i];
      r_[i] -= scale * q_[i];
    }
    return precondition();
  }

 private:
  static double square(T v) { return static_cast<double>(v) * static_cast<double>(v); }

  void multiply(const T* from, T* to) const {
    if (block_ == 1) {
      const csr_view<T, std::int32_t> a{rows_, rows_, offsets_[rows_], offsets_, columns_, values_, memory_space::host};
      const auto store = [&](index_t row, T sum) { to[row] = sum; };
      return multiply_rows(path_, a, 0, rows_, from, store);
    }
    for (index_t row = 0; row < rows_; ++row) {
      T sums[batch_most_block] = {};
      for (std::int32_t k = offsets_[row]; k < offsets_[row + 1]; ++k) {
        const T* value = values_ + std::int64_t{k} * block_ * block_;
        const T* const v = from + std::int64_t{columns_[k]} * block_;
        for (index_t i = 0; i < block_; ++i) {
          for (index_t j = 0; j < block_; ++j) sums[i] += *value++ * v[j];
        }
      }
      std::copy_n(sums, block_, to + std::int64_t{row} * block_);
    }
  }

  residual_sums precondition() {
    const double rr = sum_of(n_, [&](index_t i) { return square(r_[i]); });
    if (width_ == 0) return {rr, rr};
    if (width_ == 1) {
      for (index_t i = 0; i < n_; ++i) z_[i] = inverse_[i] * r_[i];
    } else {
      for (index_t i = 0; i < n_; ++i) {
        const index_t first = i / width_ * width_, end = std::min(first + width_, n_);
        T sum{0};
        for (index_t j = first; j < end; ++j) sum += inverse_[std::int64_t{i} * width_ + j - first] * r_[j];
        z_[i] = sum;
      }
    }
    return {sum_of(n_, [&](index_t i) { return static_cast<double>(r_[i]) * static_cast<double>(z_[i]); }), rr};
  }

  /// The inverses of the diagonal blocks of `width_`, row by row.
  void invert() {
    std::fill_n(inverse_, std::int64_t{n_} * width_, T{0});
    for (index_t row = 0; row < rows_; ++row) {
      for (std::int32_t k = offsets_[row]; k < offsets_[row + 1]; ++k) {
        for (index_t i = 0; i < block_ * block_; ++i) {
          const index_t r = row * block_ + i / block_, c = columns_[k] * block_ + i % block_;
          if (r / width_ != c / width_) continue;
          inverse_[std::int64_t{r} * width_ + c % width_] += values_[std::int64_t{k} * block_ * block_ + i];
        }
      }
    }
    for (index_t first = 0; first < n_; first += width_) {
      const index_t size = std::min(width_, n_ - first);
      const bool positive = invert_batch_block(inverse_ + std::int64_t{first} * width_, width_, size);
      if (!positive && broken_ < 0) broken_ = first;
    }
  }

  const cg_options& options_;
  index_t block_, rows_, n_, width_;
  const std::int32_t* offsets_;
  const index_t* columns_;
  row_path path_;
  const T* values_;
  const T* b_;
  T *x_, *r_, *p_, *q_, *z_, *inverse_;
  std::int64_t broken_ = -1;
};

template <class T>
class batch final : public batch_operator {
 public:
  batch(const context& ctx, const batch_problem& problem) : ctx_(ctx), problem_(problem) {
    for (const batch_system& s : problem_.systems) {
      most_ = std::max(most_, system<T>::size(problem_, s));
      work_ += s.blocks * std::int64_t{problem.block} * problem.block + s.rows * std::int64_t{problem.block};
    }
    vectors_ = buffer<T>(ctx, static_cast<std::size_t>(most_ * ctx.threads()));
  }
  void enqueue(const batch_call& call, stream_view) override {
    const loop_rules rules{problem_.options.rtol, problem_.options.atol, problem_.options.max_iterations,
                           problem_.options.replace_interval};
    parallel_chunks(threads_for(ctx_.threads(), work_, 1 << 10), static_cast<index_t>(problem_.systems.size()), 1,
                    [&](int part, auto next) {
                      next([&](index_t i) {
                        const batch_system& at = problem_.systems[static_cast<std::size_t>(i)];
                        system<T> mine(problem_, call, at, vectors_.data() + most_ * part);
                        call.records[at.number] = solve_system(mine, rules);
                      });
                    });
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return vectors_.bytes(); }
  [[nodiscard]] std::string parameters() const override {
    return fmt::format("a thread for each system, {} at once", ctx_.threads());
  }

 private:
  context ctx_;
  batch_problem problem_;
  std::int64_t most_ = 0, work_ = 0;
  buffer<T> vectors_;
};

}  // namespace

std::unique_ptr<batch_operator> make_cg_batch(const context& ctx, const batch_problem& problem) {
  if (problem.type == scalar_type::f32) return std::make_unique<batch<float>>(ctx, problem);
  return std::make_unique<batch<double>>(ctx, problem);
}

}  // namespace tulle::cpu
