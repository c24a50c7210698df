#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tulle/ops/matrix.hpp>
#include <tulle/ops/permutation.hpp>
#include <tulle/ops/spmv.hpp>
#include <tulle/ops/vector.hpp>
#include <tulle/reorder/matching.hpp>
#include <tulle/solvers/jacobi.hpp>
#include <utility>

#include "formats/matrix_arrays.hpp"
#include "kernels/backends.hpp"
#include "kernels/cg_mixed.hpp"
#include "kernels/types.hpp"
#include "ops/hidden_order.hpp"
#include "ops/operand.hpp"
#include "ops/vector_checks.hpp"
#include "solvers/jacobi_sweeps.hpp"

namespace tulle {
namespace {

void refuse(std::string_view what, double value, std::string_view right) {
  throw error(status::invalid_argument, fmt::format("{} = {}: must be {}", what, value, right));
}

const matrix_ref& checked(const matrix_ref& a, const jacobi_options& o) {
  if (!(o.rtol >= 0) || !std::isfinite(o.rtol)) refuse("rtol", o.rtol, "a number, 0 or above");
  if (!(o.atol >= 0) || !std::isfinite(o.atol)) refuse("atol", o.atol, "a number, 0 or above");
  if (o.max_iterations < 0) refuse("max_iterations", o.max_iterations, "0 or above");
  if (o.check_interval < 1) refuse("check_interval", o.check_interval, "1 or above");
  if (o.precision > solver_precision::mixed) {
    refuse("precision", static_cast<int>(o.precision), "uniform (0) or mixed (1)");
  }
  if (!std::isfinite(o.omega)) refuse("omega", o.omega, "a number");
  if (o.form == jacobi_form::plain && o.spmv.reorder == spmv_reorder::never && o.order.index() != 0) {
    throw error(status::invalid_argument, "order: form plain takes none");
  }
  if (o.spmv.transpose) throw error(status::invalid_argument, "spmv.transpose = true: must be false");
  if (a.rows != a.cols) {
    throw error(status::invalid_dimensions,
                fmt::format("A is {} x {}: a solver needs a square matrix", a.rows, a.cols));
  }
    if (!is_floating(a.types.value))
      throw error(status::unsupported, fmt::format("jacobi takes values of f32 and f64, not of {}", name(a.types.value)));
  detail::check_order(a, o.spmv.reorder_method, o.spmv.reorder);
  if (o.order.index() != 0) detail::check_order(a, o.order, spmv_reorder::always);
  return a;
}

/// The diagonal of a matrix on the host.
std::vector<double> diagonal_of(const context& ctx, const matrix_ref& a) {
  return dispatch<type_set::floating>({a.types.value}, [&]<class T, class>() {
    buffer<T> d(ctx, static_cast<std::size_t>(a.rows));
    diagonal(ctx, a, d);
    const std::vector<T> values = to_vector(ctx, d);
    return std::vector<double>(values.begin(), values.end());
  });
}

/// Of a matrix, the inverses of its diagonal, and the largest absolute value on it.
struct diagonal_inverses {
  std::vector<double> values;
  double largest = 0;
};

/// Sweeps in f32, on A times a power of two that its diagonal says.
class narrow_sweeps {
 public:
  narrow_sweeps(const context& ctx, const matrix_ref& a, const diagonal_inverses& d, const jacobi_options& o,
                const permutation* stored, int together)
      : ctx_(ctx), values_(ctx, static_cast<std::size_t>(arrays_of(ctx, a).values)), matrix_(a) {
    matrix_.values = values_.data();
    matrix_.types.value = scalar_type::f32;
    take(a, d.largest);
    spmv_options options = o.spmv;
    options.vector_type = scalar_type::f32;
    sweeps_.emplace(ctx, matrix_, options, o.omega, stored, together);
    set_inverse(d);
  }
  void update_values(const matrix_ref& a, const diagonal_inverses& d) {
    take(a, d.largest);
    set_inverse(d);
    sweeps_->update_values(matrix_);
  }
  [[nodiscard]] detail::jacobi_sweeps& sweeps() { return *sweeps_; }
  [[nodiscard]] const detail::jacobi_sweeps& sweeps() const { return *sweeps_; }
  /// What A is multiplied by.
  [[nodiscard]] double scale() const { return scale_; }
  [[nodiscard]] std::size_t bytes() const { return values_.bytes() + sweeps_->bytes(); }

 private:
  void take(const matrix_ref& a, double largest) {
    scale_ = std::isfinite(largest) && largest > 0 ? 1 / power_of_two_below(largest) : 1;
    const auto count = static_cast<std::int64_t>(values_.size());
    vectors_of(ctx_.backend())
        .convert({ctx_, ctx_.stream(), scalar_type::f32, count, nullptr}, scale_, scalar_type::f64, a.values, false,
                 values_.data());
  }
  void set_inverse(diagonal_inverses d) {
    for (double& v : d.values) v /= scale_;
    sweeps_->set_inverse(d.values);
  }

  context ctx_;
  double scale_ = 1;
  buffer<float> values_;
  matrix_ref matrix_;
  std::optional<detail::jacobi_sweeps> sweeps_;
};

}  // namespace

std::string_view name(jacobi_form form) noexcept {
  switch (form) {
    case jacobi_form::plain:
      return "plain";
    case jacobi_form::rows:
      return "rows";
    case jacobi_form::symmetric:
      return "symmetric";
  }
  return "unknown form";
}

struct jacobi_solver::impl {
  impl(const context& c, const matrix_ref& a, const jacobi_options& given)
      : ctx(c), options(given), ops(c), system(c, "A", checked(a, given)) {
    const spmv_reorder reorder = std::exchange(options.spmv.reorder, spmv_reorder::never);
    if (options.order.index() == 0) options.order = std::exchange(options.spmv.reorder_method, {});
    n = a.rows;
    prepare(reorder);
    make_sweeps();
    norm = buffer<double>(ctx, 1);
    ctx.synchronize();
  }

  void make_sweeps() {
    const int together = std::min(options.check_interval, options.max_iterations);
    const permutation* const in_order = stored ? &*stored : nullptr;
    wide.emplace(ctx, swept(), options.spmv, options.omega, in_order, together);
    type = wide->plan().vector_type();
    const diagonal_inverses d = read_diagonal();
    wide->set_inverse(d.values);
    wide->capture();
    if (options.precision == solver_precision::uniform) return;
    if (type != scalar_type::f64 || swept().types.value != scalar_type::f64) {
      throw error(status::unsupported, fmt::format("precision = mixed takes f64 values and vectors, not {} and {}",
                                                   name(swept().types.value), name(type)));
    }
    narrow.emplace(ctx, swept(), d, options, in_order, together);
    narrow->sweeps().capture();
  }

  /// The system that sweeps work on: A with its rows matched, then in the order of the form.
  void prepare(spmv_reorder reorder) {
    const bool may_move = options.form != jacobi_form::plain || options.match || reorder != spmv_reorder::never;
    if ((may_move || system.is_transpose()) && options.spmv.effort != spmv_effort::none) system.validate();
    if (system.is_transpose()) system.transpose();
    if (may_move) system.to_csr();
    system.refresh();
    if (options.match) rows = match_diagonal(ctx, system.ref());
    const matrix_ref matched = rows ? permute_rows(ctx, system.ref(), *rows) : system.ref();
    if (options.form == jacobi_form::plain && reorders(matched, reorder)) options.form = jacobi_form::symmetric;
    if (options.form == jacobi_form::symmetric) {
      unknowns = take_order(matched, ordering::rcm);
      rows = rows ? rows->then(*unknowns) : unknowns->on(ctx);
    }
    const permutation natural = permutation::identity(ctx, n);
    if (rows) system.permute(*rows, unknowns ? *unknowns : natural);
    system.refresh();
    if (options.form != jacobi_form::rows) return;
    stored = take_order(system.ref(), ordering::length);
    in_row_order.emplace(ctx, "A", system.ref()).permute(*stored, natural);
    in_row_order->refresh();
  }
  bool reorders(const matrix_ref& a, spmv_reorder asked) {
    if (asked != spmv_reorder::automatic) return asked == spmv_reorder::always;
    const bool pays = detail::order_pays(ctx, a, options.max_iterations, order_reason);
    order_reason.insert(0, pays ? ": " : ", ");
    return pays;
  }
  /// What is asked for, or `otherwise`.
  permutation take_order(const matrix_ref& a, ordering otherwise) {
    const order_choice how = options.order.index() == 0 ? order_choice(otherwise) : std::exchange(options.order, {});
    order_name = detail::describe(how);
    return detail::find_orders(ctx, a, how, 1).rows;
  }
  [[nodiscard]] const matrix_ref& swept() const { return in_row_order ? in_row_order->ref() : system.ref(); }

  /// Of the system as it is. Waits.
  [[nodiscard]] diagonal_inverses read_diagonal() const {
    diagonal_inverses d{diagonal_of(ctx, system.ref())};
    for (std::size_t i = 0; i < d.values.size(); ++i) {
      double& v = d.values[i];
      if (v == 0) refuse_row(i);
      d.largest = std::max(d.largest, std::fabs(v));
      v = 1 / v;
    }
    return d;
  }
  /// By its number in A.
  [[noreturn]] void refuse_row(std::size_t i) const {
    const std::size_t row = rows ? static_cast<std::size_t>(rows->to_vector()[i]) : i;
    throw error(
        status::invalid_structure,
        fmt::format("the diagonal entry of A in row {}, counted from 0, is 0 or missing: jacobi divides by it (match "
                    "brings other entries there)",
                    row));
  }

  [[nodiscard]] double norm_of(const vector_ref& v) const {
    ops.norm2(v, norm_ref());
    double out = 0;
    copy_bytes(ctx, &out, memory_space::host, norm.data(), ctx.space(), sizeof out);
    ctx.synchronize();
    return out;
  }
  [[nodiscard]] vector_ref norm_ref() const {
    return {scalar_type::f64, const_cast<double*>(norm.data()), 1, ctx.space(), ctx.device()};
  }

  void check(const const_vector_ref& rhs, const vector_ref& x) const {
    const detail::vector_rules rules{ctx.space(), ctx.device(), type};
    rules.check_size("b", rhs, n);
    rules.check_size("x", x, n);
    detail::require_no_stride("jacobi", {{"b", rhs}, {"x", x}});
    detail::check_apart("x", x, {{"b", rhs}});
  }
  void load(const const_vector_ref& rhs, const vector_ref& x) {
    const auto move = [&](const std::optional<permutation>& order, const const_vector_ref& v, const vector_ref& to) {
      order ? order->apply(v, to) : ops.copy(v, to);
    };
    move(rows, rhs, wide->b());
    move(unknowns, x, wide->iterate(0));
  }
  void store(int now, const vector_ref& x) {
    const vector_ref from = wide->iterate(now);
    unknowns ? unknowns->apply_inverse(from, x) : ops.copy(from, x);
  }

  /// Whether to go on.
  bool look(int now, double target, cg_result& result) {
    wide->subtract_product(now);
    result.residual = norm_of(wide->residual());
    if (options.keep_history) result.history.push_back(result.residual);
    if (options.progress) options.progress(result.iterations, result.residual);
    const status code = !std::isfinite(result.residual) ? status::not_finite
                        : result.residual <= target     ? status::success
                                                        : status::not_converged;
    result.code = static_cast<std::int32_t>(code);
    return code == status::not_converged && result.iterations < options.max_iterations;
  }
  void update_values(const const_vector_ref& values) {
    system.check_values(values);
    system.update_values(values.data, values.space);
    system.refresh();
    if (in_row_order) {
      in_row_order->update_values(system.ref().values, ctx.space());
      in_row_order->refresh();
    }
    const diagonal_inverses d = read_diagonal();
    wide->set_inverse(d.values);
    wide->update_values(swept());
    if (narrow) narrow->update_values(swept(), d);
  }

  /// Sweeps on A e = residual in f32, added to x in the other iterate: the same iterates but for rounding.
  int correct(int now, int count, double residual_norm) {
    detail::jacobi_sweeps& sweeps = narrow->sweeps();
    const double scale = power_of_two_below(residual_norm);
    const auto convert = [&](double a, const vector_ref& from, bool adds, const vector_ref& to) {
      vectors_of(ctx.backend())
          .convert({ctx, ctx.stream(), to.type, n, nullptr}, a, from.type, from.data, adds, to.data);
    };
    convert(1 / scale, wide->residual(), false, sweeps.b());
    ops.fill(0, sweeps.iterate(0));
    const int last = sweeps.advance(0, count);
    ops.copy(wide->iterate(now), wide->iterate(1 - now));
    convert(scale * narrow->scale(), sweeps.iterate(last), true, wide->iterate(1 - now));
    return 1 - now;
  }

  cg_result solve(const const_vector_ref& rhs, const vector_ref& x) {
    check(rhs, x);
    load(rhs, x);
    cg_result result;
    result.rhs = norm_of(wide->b());
    const double target = std::max(options.rtol * result.rhs, options.atol);
    int now = 0;
    bool corrects = narrow.has_value();
    for (bool goes_on = look(now, target, result); goes_on;) {
      const int count = std::min(options.check_interval, options.max_iterations - result.iterations);
      const double before = result.residual;
      result.iterations += count;
      if (!corrects) {
        result.wide_iterations += narrow ? count : 0;
        now = wide->advance(now, count);
        goes_on = look(now, target, result);
        continue;
      }
      now = correct(now, count, before);
      ++result.corrections;
      goes_on = look(now, target, result);
      corrects = result.residual < before;  // else f64 says what becomes of it
      if (std::isfinite(result.residual)) continue;
      now = 1 - now;  // f32 cannot hold it
      result.residual = before;
      result.code = static_cast<std::int32_t>(status::not_converged);
      goes_on = result.iterations < options.max_iterations;
    }
    store(now, x);
    ctx.synchronize();
    return result;
  }

  context ctx;
  jacobi_options options;
  vector_ops ops;
  detail::operand system;
  std::optional<permutation> rows;              // of A, in the order of the system's; none: as they are
  std::optional<permutation> unknowns;          // the same of columns
  std::optional<permutation> stored;            // rows of the system, in the order of the plan's
  std::optional<detail::operand> in_row_order;  // the system, its rows in that order
  std::string order_name;
  std::string order_reason;  // why, or why not; empty: it was not to be decided
  index_t n = 0;
  scalar_type type = scalar_type::f64;
  std::optional<detail::jacobi_sweeps> wide;
  std::optional<narrow_sweeps> narrow;  // of mixed precision
  buffer<double> norm;
};

jacobi_solver::jacobi_solver(const context& ctx, const matrix_ref& a, const jacobi_options& options)
    : impl_(std::make_unique<impl>(ctx, a, options)) {}
jacobi_solver::jacobi_solver(jacobi_solver&&) noexcept = default;
jacobi_solver& jacobi_solver::operator=(jacobi_solver&&) noexcept = default;
jacobi_solver::~jacobi_solver() = default;

cg_result jacobi_solver::solve(const const_vector_ref& b, const vector_ref& x) const { return impl_->solve(b, x); }
void jacobi_solver::update_values(const const_vector_ref& values) { impl_->update_values(values); }
const context& jacobi_solver::ctx() const noexcept { return impl_->ctx; }
std::string_view jacobi_solver::kernel() const noexcept { return impl_->wide->plan().kernel(); }

std::string jacobi_solver::explain() const {
  const impl& s = *impl_;
  return fmt::format(
             "jacobi: x += {} D^-1 (b - A x), form {}{}{}{}; {}", s.options.omega, name(s.options.form),
             s.order_name.empty() ? "" : ", ", s.order_name + s.order_reason, s.options.match ? ", rows matched" : "",
             s.narrow ? "swept in f32 by " + s.narrow->sweeps().plan().explain() + ", b - A x and x in f64 by " : "") +
         s.wide->plan().explain();
}

std::size_t jacobi_solver::workspace_bytes() const noexcept {
  const impl& s = *impl_;
  std::size_t sum = s.wide->bytes() + s.system.bytes() + (s.in_row_order ? s.in_row_order->bytes() : 0);
  if (s.narrow) sum += s.narrow->bytes();
  for (const auto* p : {&s.rows, &s.unknowns, &s.stored}) sum += *p ? 2 * (*p)->order().bytes() : 0;
  return sum;
}

cg_result solve_jacobi(const context& ctx, const matrix_ref& a, const const_vector_ref& b, const vector_ref& x,
                       const jacobi_options& options) {
  return jacobi_solver(ctx, a, options).solve(b, x);
}

}  // namespace tulle
