#include "conformance/spmv_case.hpp"

#include <fmt/format.h>

#include <tulle/formats/convert.hpp>
#include <tulle/ops/spmv.hpp>
#include <utility>

#include "conformance/checks.hpp"

namespace tulle::test {
namespace {

constexpr std::pair<double, double> some_factors[] = {{1, 0}, {-1, 1}, {3, -1}, {0, 1}};

/// What A^T x is held to, for one x and one y.
template <scalar T, offset O>
class transposed_check {
 public:
  transposed_check(csr_view<T, O> host, const battery_matrix& m)
      : transposed_(transpose(to_csc(context::cpu(1), host))),
        misaligned_(m.misaligned),
        x_(random_vector<T>(m.rows, 42)) {}

  /// `apply(alpha, x, beta, y)` on pointers in the memory of `ctx`, twice.
  template <class Apply>
  void run(const context& ctx, double alpha, double beta, bool reproducible, const Apply& apply) const {
    SCOPED_TRACE(fmt::format("alpha={} beta={}", alpha, beta));
    const std::vector<T> y0 = initial_y<T>(transposed_.rows, beta);
    guarded_vector<T> x(ctx, x_, misaligned_);
    const std::vector<T> y = written_twice(ctx, y0, misaligned_, reproducible,
                                           [&](T* to) { apply(alpha, x.data(), beta, to); });
    EXPECT_TRUE(x.unchanged()) << "wrote to x or around it";
    EXPECT_LE(error_ratio(reference_of(alpha, transposed_.view(), x_, beta, y0), host_span<const T>(y)), 1);
  }

 private:
  csr<T, O> transposed_;
  bool misaligned_;
  std::vector<T> x_;
};

template <scalar T, offset O>
void run_kernel(const context& ctx, const spmv_case& c) {
  typed_matrix<T, O> a(ctx, *c.matrix);
  const bool reproducible = ctx.backend() == backend_kind::cpu || std::is_integral_v<T>;
  const auto op = c.kernel->make(ctx, matrix_ref(a.device()), {}, c.options);
  const auto apply = [&](double alpha, const T* x, double beta, T* y) { op->apply(alpha, x, beta, y, ctx.stream()); };
  const transposed_check<T, O> check(a.host(), *c.matrix);
  for (const auto& [alpha, beta] : some_factors) check.run(ctx, alpha, beta, reproducible, apply);
  a.replace_values(random_numbers(c.matrix->values.size(), 1234));
  op->update_values(matrix_ref(a.device()));
  SCOPED_TRACE("after update_values");
  transposed_check<T, O>(a.host(), *c.matrix).run(ctx, 1, 0, reproducible, apply);
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
  const transposed_check<T, O> check(a.host(), m);
  check.run(ctx, 1, 0, reproducible, apply);
  check.run(ctx, 3, -1, reproducible, apply);

  typed_matrix<T, O> other(ctx, m);
  other.replace_values(random_numbers(m.values.size(), 1234));
  SCOPED_TRACE("after update_values");
  const csr_view<T, O> view = other.device(), host = other.host();
  const auto nnz = static_cast<std::size_t>(view.nnz);
  if (ctx.space() == memory_space::device) {
    plan.update_values(device_span<const T>(view.values, nnz));
    transposed_check<T, O>(host, m).run(ctx, 1, 0, reproducible, apply);
  }
  plan.update_values(host_span<const T>(host.values, nnz));
  transposed_check<T, O>(host, m).run(ctx, 1, 0, reproducible, apply);
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
