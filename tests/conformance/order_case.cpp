// Rows stored in another order, and plans that keep rows and columns in one.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <tulle/ops/spmv.hpp>

#include "conformance/checks.hpp"
#include "conformance/spmv_case.hpp"
#include "support/registered.hpp"

namespace tulle::test {
namespace {

std::vector<index_t> random_order(index_t n, std::uint64_t seed) {
  std::vector<index_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
  return order;
}

/// out[order[i]] = v[i].
template <scalar T>
std::vector<T> scattered(const std::vector<T>& v, const std::vector<index_t>& order) {
  std::vector<T> out(v.size());
  for (std::size_t i = 0; i < v.size(); ++i) out[static_cast<std::size_t>(order[i])] = v[i];
  return out;
}

/// The bits that run(y, w, b, d, dots) leaves in y and in the dot products.
template <scalar T>
struct outcome {
  std::vector<T> y;
  std::vector<double> dots;
};
template <scalar T, class Run>
outcome<T> outcome_of(const context& ctx, const std::vector<T>& y0, bool misaligned, const Run& run) {
  guarded_vector<T> y(ctx, y0, misaligned);
  guarded_vector<double> dots(ctx, {0, 0}, misaligned);
  run(y.data(), dots.data());
  EXPECT_TRUE(y.guards_intact() && dots.guards_intact()) << "wrote outside y";
  return {y.values(), dots.values()};
}

/// Calls as the kernel makes them with rows where they are, then with an order.
template <scalar T, class Run>
void expect_same(const context& ctx, spmv_operator& op, const std::vector<index_t>& order, const buffer<index_t>& place,
                 const std::vector<T>& y0, bool misaligned, const Run& run) {
  const auto plain = outcome_of(ctx, y0, misaligned, [&](T* y, double* dots) { run(y, dots, false); });
  ASSERT_TRUE(op.store_in_order(place.data()));
  const auto ordered =
      outcome_of(ctx, scattered(y0, order), misaligned, [&](T* y, double* dots) { run(y, dots, true); });
  ASSERT_TRUE(op.store_in_order(nullptr));
  EXPECT_TRUE(same_bits(scattered(plain.y, order), ordered.y)) << "other bits in an order";
  EXPECT_TRUE(same_bits(plain.dots, ordered.dots)) << "other dot products in an order";
}

/// A plan in another order, called as a kernel is.
class plan_operator final : public spmv_operator {
 public:
  plan_operator(const context& ctx, const matrix_ref& a, const spmv_options& options) : plan_(ctx, a, options) {}

  void apply(double alpha, const void* x, double beta, void* y, stream_view stream) override {
    plan_.apply(alpha, column(x), beta, row(y), {.stream = stream});
  }
  void apply_many(double alpha, const strided_vectors& x, double beta, const strided_vectors& y,
                  stream_view stream) override {
    const auto [rows, cols] = plan_.dimensions();
    plan_.apply_many(alpha, multivector(x, cols), beta, multivector(y, rows), {.stream = stream});
  }
  void apply_dots(double alpha, const void* x, double beta, void* y, const void* w, const vector_ref& dots,
                  stream_view stream) override {
    plan_.apply_dots(alpha, column(x), beta, row(y), row(const_cast<void*>(w)), dots, {.stream = stream});
  }
  void apply_jacobi(double omega, const void* x, const void* b, const void* inverse_diagonal, void* y,
                    stream_view stream) override {
    plan_.jacobi(omega, column(x), row(const_cast<void*>(b)), row(const_cast<void*>(inverse_diagonal)), row(y),
                 {.stream = stream});
  }
  void update_values(const matrix_ref& a) override {
    plan_.update_values(const_vector_ref(a.types.value, a.values, a.nnz, a.space));
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return plan_.workspace_bytes(); }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override { return plan_.matrix_bytes(); }
  [[nodiscard]] std::string parameters() const override { return plan_.explain(); }

 private:
  [[nodiscard]] const_vector_ref column(const void* x) const {
    return {plan_.vector_type(), x, plan_.dimensions().cols, plan_.ctx().space(), plan_.ctx().device()};
  }
  [[nodiscard]] vector_ref row(void* y) const {
    return {plan_.vector_type(), y, plan_.dimensions().rows, plan_.ctx().space(), plan_.ctx().device()};
  }
  [[nodiscard]] multivector_ref multivector(const strided_vectors& v, index_t size) const {
    const bool by_row = v.vector_stride == 1 && v.row_stride != 1;
    return {plan_.vector_type(),
            size,
            v.count,
            by_row ? v.row_stride : v.vector_stride,
            by_row ? vector_order::row_major : vector_order::column_major,
            v.data,
            plan_.ctx().space()};
  }

  any_spmv_plan plan_;
};

}  // namespace

std::unique_ptr<spmv_operator> make_reordered(const context& ctx, const matrix_ref& a, const spmv_case& c) {
  spmv_options options = c.options;
  options.kernel = c.kernel->name;
  options.reorder = spmv_reorder::always;
  return std::make_unique<plan_operator>(ctx, a, options);
}

void run_order_case(const context& ctx, const spmv_case& c) {
  with_operator(ctx, c, [&]<scalar S, scalar T, offset O>(const typed_matrix<S, O, T>&, spmv_operator& op) {
    if (!op.store_in_order(nullptr)) GTEST_SKIP() << "stores rows where they are";
    const battery_matrix& m = *c.matrix;
    const std::vector<index_t> order = random_order(m.rows, 7);
    const buffer<index_t> place = to_buffer(ctx, order);
    const std::vector<T> x = random_vector<T>(m.cols, 42, m.x_special), w = random_vector<T>(m.rows, 43),
                         d = random_vector<T>(m.rows, 45);
    guarded_vector<T> in_x(ctx, x, m.misaligned);
    guarded_vector<T> in_w(ctx, w, m.misaligned), ordered_w(ctx, scattered(w, order), m.misaligned);
    guarded_vector<T> in_d(ctx, d, m.misaligned), ordered_d(ctx, scattered(d, order), m.misaligned);
    for (const auto& [alpha, beta] : {std::pair{1.0, 0.0}, {3.0, -1.0}}) {
      SCOPED_TRACE(fmt::format("alpha={} beta={}", alpha, beta));
      const std::vector<T> y0 = initial_y<T>(m.rows, beta);
      expect_same(ctx, op, order, place, y0, m.misaligned,
                  [&](T* y, double*, bool) { op.apply(alpha, in_x.data(), beta, y, ctx.stream()); });
      if (!c.kernel->has.dots || std::is_integral_v<T>) continue;
      expect_same(ctx, op, order, place, y0, m.misaligned, [&](T* y, double* dots, bool ordered) {
        op.apply_dots(alpha, in_x.data(), beta, y, (ordered ? ordered_w : in_w).data(),
                      vector_ref(scalar_type::f64, dots, 2, ctx.space()), ctx.stream());
      });
    }
    if (!c.kernel->has.jacobi || std::is_integral_v<T> || m.rows != m.cols) return;
    expect_same(ctx, op, order, place, initial_y<T>(m.rows, 0), m.misaligned, [&](T* y, double*, bool ordered) {
      op.apply_jacobi(0.75, in_x.data(), (ordered ? ordered_w : in_w).data(), (ordered ? ordered_d : in_d).data(), y,
                      ctx.stream());
    });
  });
}

}  // namespace tulle::test
