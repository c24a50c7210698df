#include <fmt/format.h>

#include "conformance/checks.hpp"
#include "conformance/layout.hpp"
#include "conformance/spmv_case.hpp"

namespace tulle::test {
namespace {

using enum vector_order;

/// 17 vectors x and y and what must come of them, for one alpha and beta.
template <scalar S, scalar T, offset O>
struct problem {
  double alpha, beta;
  std::vector<std::vector<T>> x, y0;
  std::vector<spmv_reference> reference;

  problem(const typed_matrix<S, O, T>& a, const battery_matrix& m, double alpha_, double beta_)
      : alpha(alpha_), beta(beta_) {
    for (index_t j = 0; j < 17; ++j) {
      x.push_back(random_vector<T>(m.cols, 42 + static_cast<std::uint64_t>(j), m.x_special));
      y0.push_back(initial_y<T>(m.rows, beta));
      reference.push_back(reference_of(alpha, a.host(), x.back(), beta, y0.back()));
    }
  }
};

template <scalar S, scalar T, offset O>
void apply_and_check(const context& ctx, const spmv_case& c, spmv_operator& op, const problem<S, T, O>& p, layout in,
                     layout out, const std::vector<T>* bias = nullptr) {
  SCOPED_TRACE(fmt::format("{} vectors, x by {}, y by {}, alpha={} beta={}", in.count, name(in.order), name(out.order),
                           p.alpha, p.beta));
  const bool vendor = c.kernel->role == kernel_role::vendor;
  guarded_vector<T> x(ctx, stored(in, p.x), c.matrix->misaligned);
  const auto b = bias == nullptr ? buffer<T>() : to_buffer(ctx, *bias);
  const auto write = [&](T* y) {
    if (bias == nullptr) return op.apply_many(p.alpha, in.ref(x.data()), p.beta, out.ref(y), ctx.stream());
    op.apply_many_with(p.alpha, in.ref(x.data()), p.beta, out.ref(y), {b.data(), true}, ctx.stream());
  };
  const std::vector<T> all = written_twice(
      ctx, stored(out, p.y0), c.matrix->misaligned, !vendor, write,
      [&](const std::vector<T>& now) { return gaps_intact(out, now); });
  EXPECT_TRUE(x.unchanged()) << "wrote to X or around it";
  for (index_t j = 0; j < out.count; ++j) {
    const std::vector<T> y = vector_of(out, all, j);
    const double ratio = error_ratio(p.reference[static_cast<std::size_t>(j)], host_span<const T>(y));
    if (vendor && !(ratio <= 1)) GTEST_SKIP() << "the vendor's answer is " << ratio << " times its bound";
    EXPECT_LE(ratio, 1) << "vector " << j;
  }
}

/// act(p + 1 b^T) of the same, with 1 / 8 of a vector's number as its bias: what adding it may add to the error is in the bound.
template <scalar S, scalar T, offset O>
problem<S, T, O> finished(problem<S, T, O> p, const std::vector<T>& bias) {
  constexpr double unit = std::numeric_limits<T>::epsilon() / 2;
  for (std::size_t j = 0; j < bias.size(); ++j) {
    spmv_reference& r = p.reference[j];
    for (std::size_t i = 0; i < r.value.size(); ++i) {
      r.bound[i] = r.bound[i] * (1 + 2 * unit) + 2 * unit * (std::fabs(r.value[i]) + std::fabs(static_cast<double>(bias[j])));
      r.value[i] += static_cast<double>(bias[j]);
      if (r.value[i] < 0) {
        r.value[i] = 0;
        if (!r.value_low.empty()) r.value_low[i] = 0;
      }
    }
  }
  return p;
}

}  // namespace

void run_many_case(const context& ctx, const spmv_case& c) {
  const battery_matrix& m = *c.matrix;
  const bool vendor = c.kernel->role == kernel_role::vendor;
  if (m.misaligned && vendor) GTEST_SKIP() << "the vendor's routines are not asked for this";
  with_operator(ctx, c, [&]<scalar S, scalar T, offset O>(const typed_matrix<S, O, T>& a, spmv_operator& op) {
    const problem<S, T, O> overwrites(a, m, 1, 0), adds(a, m, 3, -1);
    const auto check = [&](const problem<S, T, O>& p, index_t count, vector_order x, vector_order y) {
      apply_and_check(ctx, c, op, p, {m.cols, count, x}, {m.rows, count, y});
    };
    for (const index_t count : {1, 2, 3, 8, 17}) {
      check(adds, count, row_major, row_major);
      check(overwrites, count, column_major, column_major);
    }
    check(overwrites, 8, row_major, row_major);
    check(adds, 8, column_major, column_major);
    if (vendor) return;  // the vendor's routines want both in one order
    check(overwrites, 3, row_major, column_major);
    check(adds, 3, column_major, row_major);
    if constexpr (!std::is_integral_v<T>) {
      if (!c.kernel->has.finish || c.reordered) return;  // a plan in another order finishes behind the kernel
      std::vector<T> bias;
      for (int j = 0; j < 17; ++j) bias.push_back(static_cast<T>(j - 8) / 8);
      const problem<S, T, O> with_bias = finished(adds, bias);
      for (const vector_order x : {row_major, column_major}) {
        for (const vector_order y : {row_major, column_major}) {
          apply_and_check(ctx, c, op, with_bias, {m.cols, 17, x}, {m.rows, 17, y}, &bias);
        }
      }
    }
  });
}

}  // namespace tulle::test
