#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tulle/core/stream.hpp>
#include <tulle/ops/matrix.hpp>
#include <tulle/ops/permutation.hpp>
#include <tulle/ops/spmv.hpp>
#include <tulle/ops/vector.hpp>
#include <tulle/reorder/matching.hpp>
#include <tulle/solvers/jacobi.hpp>
#include <utility>

#include "formats/matrix_arrays.hpp"
#include "kernels/spmv.hpp"
#include "kernels/types.hpp"
#include "ops/hidden_order.hpp"
#include "ops/operand.hpp"
#include "ops/vector_checks.hpp"

namespace tulle {
namespace {

/// Of a graph at most.
constexpr int sweeps_together = 50;

void refuse(std::string_view what, double value, std::string_view right) {
  throw error(status::invalid_argument, fmt::format("{} = {}: must be {}", what, value, right));
}

const matrix_ref& checked(const matrix_ref& a, const jacobi_options& o) {
  if (!(o.rtol >= 0) || !std::isfinite(o.rtol)) refuse("rtol", o.rtol, "a number, 0 or above");
  if (!(o.atol >= 0) || !std::isfinite(o.atol)) refuse("atol", o.atol, "a number, 0 or above");
  if (o.max_iterations < 0) refuse("max_iterations", o.max_iterations, "0 or above");
  if (o.check_interval < 1) refuse("check_interval", o.check_interval, "1 or above");
  if (!std::isfinite(o.omega)) refuse("omega", o.omega, "a number");
  if (o.form == jacobi_form::plain && o.spmv.reorder == spmv_reorder::never && o.order.index() != 0) {
    throw error(status::invalid_argument, "order: form plain takes none");
  }
  if (o.spmv.transpose) throw error(status::invalid_argument, "spmv.transpose = true: must be false");
  if (a.rows != a.cols) {
    throw error(status::invalid_dimensions,
                fmt::format("A is {} x {}: a solver needs a square matrix", a.rows, a.cols));
  }
  if (a.types.value == scalar_type::i32)
    throw error(status::unsupported, "jacobi takes values of f32 and f64, not of i32");
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
    plan.emplace(ctx, swept(), options.spmv);
    type = plan->vector_type();
    if (stored && !detail::operator_of(*plan).store_in_order(stored->order().data(), true)) {
      throw error(status::unsupported,
                  fmt::format("form = rows: kernel {} cannot store rows in an order", plan->kernel()));
    }
    take_memory();
    read_diagonal();
    capture();
    ctx.synchronize();
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
  void read_diagonal() {
    std::vector<double> d = diagonal_of(ctx, system.ref());
    for (std::size_t i = 0; i < d.size(); ++i) {
      if (d[i] == 0) refuse_row(i);
      d[i] = 1 / d[i];
    }
    write(d);
  }
  void write(const std::vector<double>& inverses) {
    dispatch<type_set::floating>({type}, [&]<class T, class>() {
      const std::vector<T> typed(inverses.begin(), inverses.end());
      copy_bytes(ctx, inverse.data(), ctx.space(), typed.data(), memory_space::host, inverse.bytes());
      ctx.synchronize();  // before what was copied goes
    });
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

  void take_memory() {
    for (buffer<std::byte>* v : {&inverse, &b, &residual, &iterate[0], &iterate[1]}) {
      *v = buffer<std::byte>(ctx, static_cast<std::size_t>(n) * size_of(type));
    }
    norm = buffer<double>(ctx, 1);
  }
  /// Sweeps that begin and end with the first iterate. A stream that cannot be captured goes without.
  void capture() {
    const int count = std::min({options.check_interval, options.max_iterations, sweeps_together}) / 2 * 2;
    if (ctx.backend() != backend_kind::cuda || count == 0 || n == 0) return;
    sweeps.reset();
    try {
      sweeps.emplace(ctx, [&] {
        for (int i = 0; i < count; ++i) sweep(i % 2);
      });
      in_graph = count;
    } catch (const error& e) {
      if (e.code() != status::unsupported) throw;
    }
  }

  [[nodiscard]] vector_ref vector(const buffer<std::byte>& v) const {
    return {type, const_cast<std::byte*>(v.data()), n, ctx.space(), ctx.device()};
  }

  void sweep(int from) const {
    const vector_ref x = vector(iterate[from]), y = vector(iterate[1 - from]);
    if (plan->can(operation::jacobi)) return plan->jacobi(options.omega, x, vector(b), vector(inverse), y);
    subtract_product(x);
    ops.copy(x, y);
    ops.multiply(options.omega, vector(inverse), vector(residual), 1, y);
  }
  /// residual = b - A x.
  void subtract_product(const vector_ref& x) const {
    ops.copy(vector(b), vector(residual));
    plan->apply(-1, x, 1, vector(residual));
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
  void load(const const_vector_ref& rhs, const vector_ref& x) const {
    const auto move = [&](const std::optional<permutation>& order, const const_vector_ref& v, const vector_ref& to) {
      order ? order->apply(v, to) : ops.copy(v, to);
    };
    move(rows, rhs, vector(b));
    move(unknowns, x, vector(iterate[0]));
  }
  void store(int now, const vector_ref& x) const {
    const vector_ref from = vector(iterate[now]);
    unknowns ? unknowns->apply_inverse(from, x) : ops.copy(from, x);
  }

  /// Returns which iterate is the last one.
  int advance(int now, int count) const {
    while (count > 0) {
      if (now == 0 && sweeps && count >= in_graph) {
        sweeps->launch();
        count -= in_graph;
      } else {
        sweep(now);
        now = 1 - now;
        --count;
      }
    }
    return now;
  }

  /// Whether to go on.
  bool look(int now, double target, cg_result& result) const {
    subtract_product(vector(iterate[now]));
    result.residual = norm_of(vector(residual));
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
    read_diagonal();
    const matrix_ref& a = swept();
    plan->update_values(const_vector_ref(a.types.value, a.values, arrays_of(ctx, a).values, a.space, a.device));
    capture();  // a kernel may read values where they are
    ctx.synchronize();
  }

  cg_result solve(const const_vector_ref& rhs, const vector_ref& x) const {
    check(rhs, x);
    load(rhs, x);
    cg_result result;
    result.rhs = norm_of(vector(b));
    const double target = std::max(options.rtol * result.rhs, options.atol);
    int now = 0;
    while (look(now, target, result)) {
      const int count = std::min(options.check_interval, options.max_iterations - result.iterations);
      now = advance(now, count);
      result.iterations += count;
    }
    store(now, x);
    ctx.synchronize();
    return result;
  }

  context ctx;
  jacobi_options options;
  vector_ops ops;
  detail::operand system;
  std::optional<permutation> rows;      // of A, in the order of the system's; none: as they are
  std::optional<permutation> unknowns;  // the same of columns
  std::optional<permutation> stored;    // rows of the system, in the order of the plan's
  std::optional<detail::operand> in_row_order;  // the system, its rows in that order
  std::string order_name;
  std::string order_reason;  // why, or why not; empty: it was not to be decided
  std::optional<any_spmv_plan> plan;
  index_t n = 0;
  scalar_type type = scalar_type::f64;
  buffer<std::byte> inverse, b, residual, iterate[2];
  buffer<double> norm;
  std::optional<graph> sweeps;
  int in_graph = 0;
};

jacobi_solver::jacobi_solver(const context& ctx, const matrix_ref& a, const jacobi_options& options)
    : impl_(std::make_unique<impl>(ctx, a, options)) {}
jacobi_solver::jacobi_solver(jacobi_solver&&) noexcept = default;
jacobi_solver& jacobi_solver::operator=(jacobi_solver&&) noexcept = default;
jacobi_solver::~jacobi_solver() = default;

cg_result jacobi_solver::solve(const const_vector_ref& b, const vector_ref& x) const { return impl_->solve(b, x); }
void jacobi_solver::update_values(const const_vector_ref& values) { impl_->update_values(values); }
const context& jacobi_solver::ctx() const noexcept { return impl_->ctx; }
std::string_view jacobi_solver::kernel() const noexcept { return impl_->plan->kernel(); }

std::string jacobi_solver::explain() const {
  const impl& s = *impl_;
  return fmt::format("jacobi: x += {} D^-1 (b - A x), form {}{}{}{}; {}", s.options.omega, name(s.options.form),
                     s.order_name.empty() ? "" : ", ", s.order_name + s.order_reason,
                     s.options.match ? ", rows matched" : "", s.plan->explain());
}

std::size_t jacobi_solver::workspace_bytes() const noexcept {
  const impl& s = *impl_;
  std::size_t sum = s.plan->workspace_bytes() + s.system.bytes() + (s.in_row_order ? s.in_row_order->bytes() : 0);
  sum += s.inverse.bytes() + s.b.bytes() + s.residual.bytes() + s.iterate[0].bytes() + s.iterate[1].bytes();
  for (const auto* p : {&s.rows, &s.unknowns, &s.stored}) sum += *p ? 2 * (*p)->order().bytes() : 0;
  return sum;
}

cg_result solve_jacobi(const context& ctx, const matrix_ref& a, const const_vector_ref& b, const vector_ref& x,
                       const jacobi_options& options) {
  return jacobi_solver(ctx, a, options).solve(b, x);
}

}  // namespace tulle
