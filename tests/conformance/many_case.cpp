#include "conformance/spmv_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <tulle/ops/verify.hpp>
#include <vector>

#include "support/guarded_vector.hpp"
#include "support/typed_matrix.hpp"

namespace tulle::test {
namespace {

using enum vector_order;

/// Where the elements of `count` vectors of `rows` are.
struct layout {
  index_t rows;
  index_t count;
  vector_order order;

  [[nodiscard]] std::int64_t ld() const { return order == row_major ? count + 3 : rows + 5; }
  [[nodiscard]] std::size_t size() const {
    return static_cast<std::size_t>(ld() * (order == row_major ? rows : count));
  }
  [[nodiscard]] std::size_t at(index_t i, index_t j) const {
    return static_cast<std::size_t>(order == row_major ? i * ld() + j : i + j * ld());
  }
  [[nodiscard]] strided_vectors ref(void* data) const {
    return {data, count, order == row_major ? ld() : 1, order == row_major ? 1 : ld()};
  }
};

template <scalar T>
T gap() {
  return std::numeric_limits<T>::has_quiet_NaN ? std::numeric_limits<T>::quiet_NaN() : static_cast<T>(0x3c3c3c3c);
}

template <scalar T>
std::vector<T> stored(const layout& l, const std::vector<std::vector<T>>& vectors) {
  std::vector<T> out(l.size(), gap<T>());
  for (index_t j = 0; j < l.count; ++j) {
    for (index_t i = 0; i < l.rows; ++i)
      out[l.at(i, j)] = vectors[static_cast<std::size_t>(j)][static_cast<std::size_t>(i)];
  }
  return out;
}

template <scalar T>
std::vector<T> vector_of(const layout& l, const std::vector<T>& from, index_t j) {
  std::vector<T> out(static_cast<std::size_t>(l.rows));
  for (index_t i = 0; i < l.rows; ++i) out[static_cast<std::size_t>(i)] = from[l.at(i, j)];
  return out;
}

/// What was between the rows or vectors is still there.
template <scalar T>
bool gaps_intact(const layout& l, std::vector<T> now) {
  for (index_t j = 0; j < l.count; ++j) {
    for (index_t i = 0; i < l.rows; ++i) now[l.at(i, j)] = gap<T>();
  }
  return same_bits(now, std::vector<T>(l.size(), gap<T>()));
}

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
      const host_span<const T> before = beta == 0 ? host_span<const T>() : host_span<const T>(y0.back());
      reference.push_back(reference_spmv(context::cpu(1), static_cast<T>(alpha), a.host(), host_span<const T>(x.back()),
                                         static_cast<T>(beta), before));
    }
  }
};

template <scalar S, scalar T, offset O>
void apply_and_check(const context& ctx, const spmv_case& c, spmv_operator& op, const problem<S, T, O>& p, layout in,
                     layout out) {
  SCOPED_TRACE(fmt::format("{} vectors, x by {}, y by {}, alpha={} beta={}", in.count, name(in.order), name(out.order),
                           p.alpha, p.beta));
  const bool vendor = c.kernel->role == kernel_role::vendor;
  guarded_vector<T> x(ctx, stored(in, p.x), c.matrix->misaligned);
  std::vector<T> first;
  for (int repeat = 0; repeat < 2; ++repeat) {
    guarded_vector<T> y(ctx, stored(out, p.y0), c.matrix->misaligned);
    op.apply_many(p.alpha, in.ref(x.data()), p.beta, out.ref(y.data()), ctx.stream());
    const std::vector<T> now = y.values();
    EXPECT_TRUE(y.guards_intact() && gaps_intact(out, now)) << "wrote outside Y";
    if (repeat == 0) {
      first = now;
    } else if (!vendor) {
      EXPECT_TRUE(same_bits(first, now)) << "the second run gave other bits";
    }
  }
  EXPECT_TRUE(x.unchanged()) << "wrote to X or around it";
  for (index_t j = 0; j < out.count; ++j) {
    const std::vector<T> y = vector_of(out, first, j);
    const double ratio = error_ratio(p.reference[static_cast<std::size_t>(j)], host_span<const T>(y));
    if (vendor && !(ratio <= 1)) GTEST_SKIP() << "the vendor's answer is " << ratio << " times its bound";
    EXPECT_LE(ratio, 1) << "vector " << j;
  }
}

template <scalar S, scalar T, offset O>
void run_typed(const context& ctx, const spmv_case& c) {
  const battery_matrix& m = *c.matrix;
  if (m.misaligned && c.kernel->role == kernel_role::vendor) GTEST_SKIP() << "the vendor's routines are not asked for this";
  const typed_matrix<S, O, T> a(ctx, m);
  const csr_stats stats = statistics(ctx, a.device());
  if (const support s = c.kernel->supports(stats, c.types.matrix(), ctx.info()); !s.ok) GTEST_SKIP() << s.reason;
  const auto op = c.kernel->make(ctx, matrix_ref(a.device()), stats, c.options);
  const problem<S, T, O> overwrites(a, m, 1, 0), adds(a, m, 3, -1);
  const auto check = [&](const problem<S, T, O>& p, index_t count, vector_order x, vector_order y) {
    apply_and_check<S, T, O>(ctx, c, *op, p, {m.cols, count, x}, {m.rows, count, y});
  };
  for (const index_t count : {1, 2, 3, 8, 17}) {
    check(adds, count, row_major, row_major);
    check(overwrites, count, column_major, column_major);
  }
  check(overwrites, 8, row_major, row_major);
  check(adds, 8, column_major, column_major);
  if (c.kernel->role == kernel_role::vendor) return;  // the vendor's routines want both in one order
  check(overwrites, 3, row_major, column_major);
  check(adds, 3, column_major, row_major);
}

}  // namespace

void run_many_case(const context& ctx, const spmv_case& c) {
  dispatch_operation<every_type>(c.types, [&]<class S, class T, class O>() { run_typed<S, T, O>(ctx, c); });
}

}  // namespace tulle::test
