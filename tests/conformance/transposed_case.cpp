#include <fmt/format.h>

#include <tulle/formats/convert.hpp>
#include <tulle/ops/spmv.hpp>
#include <utility>

#include "conformance/checks.hpp"
#include "conformance/spmv_case.hpp"

namespace tulle::test {
namespace {

/// `apply(alpha, x, beta, y)`, on pointers in the memory of `ctx`, is A^T x within its bound.
template <scalar T, offset O, class Apply>
void check_transposed(const context& ctx, const csr_view<T, O>& host, const battery_matrix& m, double alpha,
                      double beta, bool reproducible, const Apply& apply) {
  SCOPED_TRACE(fmt::format("alpha={} beta={}", alpha, beta));
  const csr<T, O> transposed = transpose(to_csc(context::cpu(1), host));
  const std::vector<T> x = random_vector<T>(m.rows, 42), y0 = initial_y<T>(m.cols, beta);
  guarded_vector<T> guarded_x(ctx, x, m.misaligned);
  const std::vector<T> y =
      written_twice(ctx, y0, m.misaligned, reproducible, [&](T* to) { apply(alpha, guarded_x.data(), beta, to); });
  EXPECT_TRUE(guarded_x.unchanged()) << "wrote to x or around it";
  const spmv_reference reference = reference_of(alpha, transposed.view(), x, beta, y0);
  EXPECT_LE(error_ratio(reference, host_span<const T>(y)), 1) << worst_of(reference, y);
}

/// Several vectors in rows, of which the kernel was told: every one of them is the same x, and each must come out right.
template <scalar T, offset O>
void run_kernel_many(const context& ctx, const spmv_case& c, index_t count) {
  SCOPED_TRACE(fmt::format("{} vectors", count));
  const typed_matrix<T, O> a(ctx, *c.matrix);
  const auto rows = static_cast<std::size_t>(c.matrix->rows), cols = static_cast<std::size_t>(c.matrix->cols);
  const auto times = static_cast<std::size_t>(count);
  spmv_options options = c.options;
  options.columns = count;
  const auto op = c.kernel->make(ctx, matrix_ref(a.device()), {}, options);
  for (std::size_t j = 0; j < times; ++j) {
    const auto apply = [&](double alpha, const T* x, double beta, T* y) {
      std::vector<T> xs(rows * times), ys(cols * times);
      for (std::size_t i = 0; i < xs.size(); ++i) xs[i] = i % times == j ? x[i / times] : T{7};
      for (std::size_t i = 0; i < ys.size(); ++i) ys[i] = y[i / times];
      op->apply_many(alpha, {xs.data(), count, count, 1}, beta, {ys.data(), count, count, 1}, ctx.stream());
      for (std::size_t i = 0; i < cols; ++i) y[i] = ys[i * times + j];
    };
    check_transposed(ctx, a.host(), *c.matrix, 1, 0, true, apply);
    check_transposed(ctx, a.host(), *c.matrix, 3, -1, true, apply);
  }
}

template <scalar T, offset O>
void run_kernel(const context& ctx, const spmv_case& c) {
  typed_matrix<T, O> a(ctx, *c.matrix);
  const bool reproducible = ctx.backend() == backend_kind::cpu || std::is_integral_v<T>;
  const auto op = c.kernel->make(ctx, matrix_ref(a.device()), {}, c.options);
  const auto apply = [&](double alpha, const T* x, double beta, T* y) { op->apply(alpha, x, beta, y, ctx.stream()); };
  const auto check = [&](double alpha, double beta) {
    check_transposed(ctx, a.host(), *c.matrix, alpha, beta, reproducible, apply);
  };
  for (const auto& [alpha, beta] : {std::pair{1.0, 0.0}, {-1, 1}, {3, -1}, {0, 1}}) check(alpha, beta);
  a.replace_values(random_numbers(c.matrix->values.size(), 1234));
  op->update_values(matrix_ref(a.device()));
  {
    SCOPED_TRACE("after update_values");
    check(1, 0);
  }
  if (ctx.backend() != backend_kind::cpu) return;
  for (const index_t count : {2, 5, 8, 16}) run_kernel_many<T, O>(ctx, c, count);
}

template <scalar T, offset O>
void run_plan(const context& ctx, const battery_matrix& m, spmv_effort effort) {
  SCOPED_TRACE(name(effort));
  typed_matrix<T, O> a(ctx, m);
  const bool reproducible = ctx.backend() == backend_kind::cpu || std::is_integral_v<T> || effort != spmv_effort::none;
  spmv_plan<T> plan(ctx, a.device(), {.effort = effort, .transpose = true});
  EXPECT_EQ(plan.dimensions(), (shape{m.cols, m.rows}));
  const auto apply = [&](double alpha, const T* x, double beta, T* y) {
    const auto rows = static_cast<std::size_t>(m.rows), cols = static_cast<std::size_t>(m.cols);
    if (ctx.space() == memory_space::host) {
      plan.apply(static_cast<T>(alpha), host_span<const T>(x, rows), static_cast<T>(beta), host_span<T>(y, cols));
    } else {
      plan.apply(static_cast<T>(alpha), device_span<const T>(x, rows), static_cast<T>(beta), device_span<T>(y, cols));
    }
  };
  const auto check = [&](const typed_matrix<T, O>& of, double alpha, double beta) {
    check_transposed(ctx, of.host(), m, alpha, beta, reproducible, apply);
  };
  check(a, 1, 0);
  check(a, 3, -1);

  typed_matrix<T, O> other(ctx, m);
  other.replace_values(random_numbers(m.values.size(), 1234));
  SCOPED_TRACE("after update_values");
  const auto nnz = m.values.size();
  if (ctx.space() == memory_space::device) {
    plan.update_values(device_span<const T>(other.device().values, nnz));
    check(other, 1, 0);
  }
  plan.update_values(host_span<const T>(other.host().values, nnz));
  check(other, 1, 0);
}

}  // namespace

void run_transposed_case(const context& ctx, const spmv_case& c) {
  dispatch<type_set::all>(c.types.matrix(), [&]<class T, class O>() { run_kernel<T, O>(ctx, c); });
}

void run_transposed_plan_case(const context& ctx, type_key types, const battery_matrix& matrix) {
  dispatch<type_set::all>(types, [&]<class T, class O>() {
    for (const spmv_effort effort : {spmv_effort::none, spmv_effort::standard}) run_plan<T, O>(ctx, matrix, effort);
  });
}

}  // namespace tulle::test
