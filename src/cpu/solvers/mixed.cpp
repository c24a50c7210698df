// cg.fused (fused.cpp) in mixed precision: D^-1/2 A D^-1/2, r, p, q and what is added to x in f32; A, x and b - A x in
// f64, looked at when kernels/cg_mixed.hpp says so. Values moved per iteration beside the matrix: 10 n of 4 bytes.
#include "cpu/solvers/mixed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tulle/ops/matrix.hpp>

#include "cpu/solvers/fused_system.hpp"
#include "kernels/cg_mixed.hpp"
#include "kernels/types.hpp"

namespace tulle::cpu {
namespace {

class cg_mixed_fused final : public cg_operator {
 public:
  cg_mixed_fused(const context& ctx, const cg_problem& p)
      : ctx_(ctx),
        options_(p.options),
        n_(p.csr.rows),
        scales_(p.options.preconditioner == preconditioner_kind::jacobi),
        truth_(ctx, p.csr, plan_options(scalar_type::f64)),
        values_(ctx, static_cast<std::size_t>(p.csr.nnz)),
        y_(ctx, size()),
        r_(ctx, size()),
        p_(ctx, size()),
        q_(ctx, size()),
        wide_(ctx, size()),
        factors_(ctx, size()),
        shares_(ctx, 2 * most_vector_parts) {
    fold(p.csr);
    matrix_ref a = p.csr;
    a.values = values_.data();
    a.types.value = scalar_type::f32;
    plan_.emplace(ctx, a, plan_options(scalar_type::f32));
    for (any_spmv_plan* plan : {&*plan_, &truth_}) detail::explain_kernel(*plan, p.kernel_reason);
  }

  void enqueue(const void* b, void* x, cg_record* record, double* history, stream_view) override {
    *record = run(static_cast<const double*>(b), static_cast<double*>(x), history);
  }
  void update_values(const cg_problem& p) override {
    fold(p.csr);
    plan_->update_values(const_vector_ref(scalar_type::f32, values_.data(), p.csr.nnz, memory_space::host));
    truth_.update_values(const_vector_ref(scalar_type::f64, p.csr.values, p.csr.nnz, memory_space::host));
  }
  [[nodiscard]] int corrections() const override { return state_.corrections; }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return plan_->workspace_bytes() + truth_.workspace_bytes() + values_.bytes() + 4 * y_.bytes() + wide_.bytes() +
           factors_.bytes() + shares_.bytes();
  }
  [[nodiscard]] std::string parameters() const override {
    return fmt::format("values={} {}; b - A x in f64 by {}", sums_in_product() ? 10 : 12, plan_->explain(),
                       truth_.explain());
  }

 private:
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(n_); }
  [[nodiscard]] bool sums_in_product() const { return plan_->kernel() == "packed"; }
  [[nodiscard]] spmv_options plan_options(scalar_type vectors) const {
    spmv_options o = options_.spmv;
    o.vector_type = vectors;
    return o;
  }

  /// factors_ = D^-1/2; without a preconditioner a power of two that brings A near 1, as f32 spans little.
  void find_factors(const matrix_ref& a) {
    diagonal(ctx_, a, factors_);
    double* const d = factors_.data();
    if (!scales_) {
      double largest = 0;
      for (std::int64_t i = 0; i < n_; ++i) largest = std::max(largest, std::fabs(d[i]));
      const bool usable = largest > 0 && is_finite(largest);
      return std::fill(d, d + n_, usable ? std::ldexp(1, -(std::ilogb(largest) >> 1)) : 1.0);
    }
    for (std::int64_t i = 0; i < n_; ++i) {
      if (d[i] <= 0) {
        throw error(status::indefinite,
                    fmt::format("A is not positive definite: a_ii = {} for i = {}, counted from 0", d[i], i));
      }
      d[i] = 1 / std::sqrt(d[i]);
    }
  }
  /// values_ = W A W, W the factors.
  void fold(const matrix_ref& a) {
    find_factors(a);
    dispatch<type_set::floating>({scalar_type::f64, a.types.offset}, [&]<class, class O>() {
      const csr_view<double, O> from = a.as<double, O>();
      const double* const w = factors_.data();
      for_vector_parts(ctx_, n_, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          for (O k = from.rowptr[i]; k < from.rowptr[i + 1]; ++k) {
            values_.data()[k] = static_cast<float>(from.values[k] * w[i] * w[from.colind[k]]);
          }
        }
      });
    });
  }

  cg_record run(const double* b, double* x, double* history) {
    fused_system<float> narrow{ctx_,      *plan_,    options_,  n_,      nullptr,        y_.data(),
                               r_.data(), p_.data(), q_.data(), nullptr, shares_.data(), sums_in_product(),
                               nullptr,   false};
    cg_record end{static_cast<std::int32_t>(status::not_converged)};
    const auto stop = [&](status why) { end.code = static_cast<std::int32_t>(why); };
    end.rhs = begin(narrow, b, x);
    begin_mixed(std::max(options_.rtol * end.rhs, options_.atol), state_);
    double rz_before = 0;
    for (bool first = true;; first = false) {
      if (!first) add_to(narrow, x);
      const residual_sums truth = true_residual(narrow, b, x);
      end.residual = std::sqrt(truth.rr);
      if (first && history != nullptr) history[0] = end.residual;
      if (!is_finite(end.residual) || !is_finite(end.rhs)) {
        stop(status::not_finite);
      } else if (end.residual <= state_.target) {
        stop(status::success);
      } else if (end.iterations < options_.max_iterations &&
                 judge_correction(end.residual, truth.rz, rz_before, state_)) {
        const status why = iterate(narrow, rz_before, end, history);
        if (why == status::success) continue;
        stop(why);  // x is as it was
      }
      return end;
    }
  }

  /// ||b||; x is the guess, and 0 where b is.
  double begin(const fused_system<float>& narrow, const double* b, double* x) {
    const double rhs = std::sqrt(narrow
                                     .sums([&](std::int64_t from, std::int64_t to) {
                                       std::fill(y_.data() + from, y_.data() + to, 0.0F);
                                       return residual_sums{part_dot(b, b, from, to), 0};
                                     })
                                     .rz);
    if (options_.zero_guess || rhs == 0) {
      for_vector_parts(ctx_, n_,
                       [&](std::int64_t, std::int64_t from, std::int64_t to) { std::fill(x + from, x + to, 0.0); });
    }
    return rhs;
  }
  /// x += scale W y, y = 0.
  void add_to(fused_system<float>& narrow, double* x) {
    narrow.take_step();
    ++state_.corrections;
    for_vector_parts(ctx_, n_, [&](std::int64_t, std::int64_t from, std::int64_t to) {
      for (std::int64_t i = from; i < to; ++i) {
        x[i] += static_cast<double>(y_.data()[i]) * state_.scale * factors_.data()[i];
        y_.data()[i] = 0;
      }
    });
  }
  /// W (b - A x), its square and that of b - A x.
  residual_sums true_residual(const fused_system<float>& narrow, const double* b, const double* x) {
    truth_.apply(1, const_vector_ref{scalar_type::f64, x, n_, memory_space::host}, 0,
                 vector_ref{scalar_type::f64, wide_.data(), n_, memory_space::host});
    const double* const w = factors_.data();
    double* const r = wide_.data();
    return narrow.sums([&](std::int64_t from, std::int64_t to) {
      for (std::int64_t i = from; i < to; ++i) r[i] = b[i] - r[i];
      const double rr = part_dot(r, r, from, to);
      for (std::int64_t i = from; i < to; ++i) r[i] *= w[i];
      return residual_sums{part_dot(r, r, from, to), rr};
    });
  }
  /// In f32, until a correction is due: SUCCESS. `rz_before` is that of the last direction.
  status iterate(fused_system<float>& narrow, double& rz_before, cg_record& end, double* history) {
    const double scale = 1 / state_.scale;
    double rz = narrow
                    .sums([&](std::int64_t from, std::int64_t to) {
                      for (std::int64_t i = from; i < to; ++i)
                        r_.data()[i] = static_cast<float>(wide_.data()[i] * scale);
                      return residual_sums{part_dot(r_.data(), r_.data(), from, to), 0};
                    })
                    .rz;
    double beta = state_.beta;
    for (int since = 1;; ++since) {
      narrow.turn(beta);
      const double pq = narrow.multiply(), alpha = rz / pq;
      ++end.iterations;
      if (!is_finite(pq)) return status::not_finite;
      if (pq <= 0 || !is_finite(alpha)) return pq <= 0 ? status::indefinite : status::breakdown;
      rz_before = rz;
      rz = narrow.step(alpha).rz;
      if (!is_finite(rz)) return status::not_finite;
      const double norm = std::sqrt(rz);
      if (history != nullptr) history[end.iterations] = state_.unit * norm;
      if (options_.progress && end.iterations % options_.check_interval == 0) {
        options_.progress(end.iterations, state_.unit * norm);
      }
      const double near = since >= mixed_phase ? std::max(state_.goal, state_.later) : state_.goal;
      const bool due = options_.replace_interval > 0 && since >= options_.replace_interval;
      if (norm <= near || due || since >= mixed_longest || end.iterations >= options_.max_iterations) {
        return status::success;
      }
      beta = rz / rz_before;
    }
  }

  context ctx_;
  cg_options options_;
  std::int64_t n_;
  bool scales_;
  any_spmv_plan truth_;
  std::optional<any_spmv_plan> plan_;
  buffer<float> values_, y_, r_, p_, q_;
  buffer<double> wide_, factors_, shares_;
  mixed_state state_{};
};

}  // namespace

std::unique_ptr<cg_operator> make_mixed(const context& ctx, const cg_problem& problem) {
  return std::make_unique<cg_mixed_fused>(ctx, problem);
}

}  // namespace tulle::cpu
