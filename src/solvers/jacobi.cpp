#include <fmt/format.h>

#include <cmath>
#include <tulle/ops/matrix.hpp>
#include <tulle/ops/spmv.hpp>
#include <tulle/ops/vector.hpp>
#include <tulle/solvers/jacobi.hpp>
#include <utility>

#include "kernels/types.hpp"

namespace tulle {
namespace {

void refuse(std::string_view what, double value, std::string_view right) {
  throw error(status::invalid_argument, fmt::format("{} = {}: must be {}", what, value, right));
}

/// 1 / a_ii in the context's memory.
template <scalar T>
buffer<T> inverse_diagonal(const context& ctx, const matrix_ref& a) {
  buffer<T> device(ctx, static_cast<std::size_t>(a.rows));
  diagonal(ctx, a, device);
  std::vector<T> d = to_vector(ctx, device);
  for (std::size_t i = 0; i < d.size(); ++i) {
    if (d[i] == 0)
      throw error(status::invalid_argument, fmt::format("A has no diagonal entry in row {}, counted from 0", i));
    d[i] = 1 / d[i];
  }
  return to_buffer(ctx, d);
}

template <scalar T>
cg_result solve(const context& ctx, const matrix_ref& a, const const_vector_ref& b, const vector_ref& x,
                const jacobi_options& o) {
  const any_spmv_plan plan(ctx, a, o.spmv);
  const vector_ops ops(ctx);
  const buffer<T> inverse = inverse_diagonal<T>(ctx, a);
  buffer<T> other(ctx, static_cast<std::size_t>(a.rows)), r(ctx, other.size());
  buffer<double> norm(ctx, 1);
  const bool fused = plan.can(operation::jacobi);
  const auto norm_of = [&](const const_vector_ref& v) {
    ops.norm2(v, norm);
    return to_vector(ctx, norm).front();
  };
  const auto residual = [&] {
    ops.copy(b, r);
    plan.apply(-1, x, 1, r);
    return norm_of(r);
  };
  const auto step = [&](const vector_ref& from, const vector_ref& to) {
    if (fused) return plan.jacobi(o.omega, from, b, inverse, to);
    ops.copy(b, r);
    plan.apply(-1, from, 1, r);
    ops.copy(from, to);
    ops.multiply(o.omega, inverse, r, 1, to);
  };
  cg_result result;
  result.rhs = norm_of(b);
  const double target = std::max(o.rtol * result.rhs, o.atol);
  const auto look = [&] {
    result.residual = residual();
    result.history.push_back(result.residual);
    if (o.progress) o.progress(result.iterations, result.residual);
    const status code = !std::isfinite(result.residual) ? status::not_finite
                        : result.residual <= target     ? status::success
                                                        : status::not_converged;
    result.code = static_cast<std::int32_t>(code);
    return code == status::not_converged && result.iterations < o.max_iterations;
  };
  vector_ref from = x, to = other;
  while (look()) {
    const int last = result.iterations + std::min(o.check_interval, o.max_iterations - result.iterations);
    for (; result.iterations < last; ++result.iterations) {
      step(from, to);
      std::swap(from, to);
    }
    if (from.data != x.data) {
      ops.copy(from, x);
      std::swap(from, to);
    }
  }
  return result;
}

}  // namespace

cg_result solve_jacobi(const context& ctx, const matrix_ref& a, const const_vector_ref& b, const vector_ref& x,
                       const jacobi_options& options) {
  if (!(options.rtol >= 0)) refuse("rtol", options.rtol, "0 or above");
  if (!(options.atol >= 0)) refuse("atol", options.atol, "0 or above");
  if (options.max_iterations < 0) refuse("max_iterations", options.max_iterations, "0 or above");
  if (options.check_interval < 1) refuse("check_interval", options.check_interval, "1 or above");
  if (!std::isfinite(options.omega)) refuse("omega", options.omega, "a number");
  if (a.rows != a.cols) {
    throw error(status::invalid_dimensions,
                fmt::format("A is {} x {}: a solver needs a square matrix", a.rows, a.cols));
  }
  if (a.types.value == scalar_type::i32)
    throw error(status::unsupported, "jacobi takes values of f32 and f64, not of i32");
  return dispatch<type_set::floating>({a.types.value},
                                      [&]<class T, class>() { return solve<T>(ctx, a, b, x, options); });
}

}  // namespace tulle
