// apply_many_with: bias and ReLU as they are stored, in a pass of their own, and on operators of a caller's own. Sums
// of small integers, which are exact in any order of summation and hide nothing.
#include <limits>
#include <tulle/tulle.hpp>

#include "support/backends.hpp"
#include "support/errors.hpp"
#include "support/many_vectors.hpp"

namespace tulle::test {
namespace {

using enum vector_order;

double bias_at(index_t j) { return j % 5 - 2; }
many_layout place(index_t rows, index_t count, vector_order order) {
  return {rows, count, order, order == column_major ? 0 : count % 8 == 0 ? 8 : 1};
}

template <class T>
void check(const linear_operator& op, const plain_csr<>& m, const many_layout& in, const many_layout& out, double beta,
           bool biased, activation act) {
  const context& ctx = op.ctx();
  SCOPED_TRACE(std::string(op.label()) + ", " + std::to_string(in.count) + " columns, x by " +
               std::string(name(in.order)) + ", y by " + std::string(name(out.order)));
  const auto x = to_buffer(ctx, in.filled<T>(x_at));
  auto y = to_buffer(ctx, out.filled<T>([&](index_t i, index_t j) {
    return beta == 0 ? std::numeric_limits<double>::quiet_NaN() : y_at(i, j);
  }));
  std::vector<T> b;
  for (index_t j = 0; biased && j < in.count; ++j) b.push_back(static_cast<T>(bias_at(j)));
  const auto bias = to_buffer(ctx, b);
  const std::vector<double> sums = products(m, out);
  const std::vector<T> expected = out.filled<T>([&](index_t i, index_t j) {
    const double value = 2 * sums[out.at(i, j)] + (beta == 0 ? 0 : beta * y_at(i, j)) + (biased ? bias_at(j) : 0);
    return act == activation::relu ? std::max(value, 0.0) : value;
  });
  op.apply_many_with(2, in.ref<const T>(x.data(), ctx.space()), beta, out.ref(y.data(), ctx.space()), {bias, act});
  std::vector<T> now = to_vector(ctx, y);
  for (T& v : now) v += T{0};  // -0 is 0
  EXPECT_EQ(now, expected);
}

class many_epilogues : public on_backend {
 protected:
  template <class T>
  void check_all(const spmv_options& options, bool fused) {
    const plain_csr<> wide = uneven(150, 150, false);
    plain_csr<T> m{wide.rows, wide.cols, wide.rowptr, wide.colind, {wide.values.begin(), wide.values.end()}};
    const any_spmv_plan plan(ctx(), matrix_ref(m.on(ctx())), options);
    EXPECT_EQ(plan.can(operation::many_epilogue), fused) << plan.kernel();
    const std::string told =
        fused ? "bias and activation in the same pass" : "bias and activation in a pass of their own";
    EXPECT_EQ(plan.explain().find(told) != std::string::npos, options.columns > 0) << plan.explain();
    for (const index_t count : {1, 5, 8, 33, 40, 130}) {
      for (const vector_order x : {row_major, column_major}) {
        for (const vector_order y : {row_major, column_major}) {
          check<T>(plan, wide, place(m.cols, count, x), place(m.rows, count, y), count == 8 ? -1 : 0, true,
                   activation::relu);
        }
      }
    }
    check<T>(plan, wide, place(m.cols, 7, row_major), place(m.rows, 7, row_major), 3, true, activation::none);
    check<T>(plan, wide, place(m.cols, 7, row_major), place(m.rows, 7, row_major), 0, false, activation::relu);
    check<T>(plan, wide, place(m.cols, 7, row_major), place(m.rows, 7, row_major), 0, false, activation::none);
  }
};
TULLE_ON_BOTH_BACKENDS(many_epilogues);

TEST_P(many_epilogues, in_the_same_pass) {
  check_all<float>({}, true);
  check_all<double>({}, true);
  check_all<double>({.columns = 33, .columns_order = column_major}, true);
  check_all<float>({.columns = 32}, true);
}

TEST_P(many_epilogues, in_a_pass_of_their_own) {
  check_all<double>({.kernel = "bsr"}, false);
  spmv_options reordered{.columns = 8};
  reordered.reorder = spmv_reorder::always;
  check_all<float>(reordered, false);
}

TEST_P(many_epilogues, behind_a_kernel) {
  const plain_csr<> m = uneven(40, 40, false);
  const any_spmv_plan plan(ctx(), matrix_ref(m.on(ctx())), {.kernel = "bsr"});
  for (const vector_order y : {row_major, column_major}) {
    check<double>(plan, m, place(40, 3, row_major), place(40, 3, y), -1, true, activation::relu);
  }
}

/// Y = alpha X + beta Y.
class identity final : public linear_operator {
 public:
  identity(const context& c, index_t n) : ctx_(c), n_(n) {}
  [[nodiscard]] const context& ctx() const noexcept override { return ctx_; }
  [[nodiscard]] shape dimensions() const noexcept override { return {n_, n_}; }
  [[nodiscard]] scalar_type vector_type() const noexcept override { return scalar_type::f64; }
  [[nodiscard]] bool can(operation what, bool) const noexcept override { return what <= operation::apply_many; }

 protected:
  void do_apply(double, const const_vector_ref&, double, const vector_ref&, call) const override {}
  void do_apply_many(double alpha, const const_multivector_ref& x, double beta, const multivector_ref& y,
                     call) const override {
    for (index_t i = 0; i < n_; ++i) {
      for (index_t j = 0; j < x.count; ++j) {
        double& to = static_cast<double*>(y.data)[i * y.row_stride() + j * y.vector_stride()];
        to = alpha * static_cast<const double*>(x.data)[i * x.row_stride() + j * x.vector_stride()] +
             (beta == 0 ? 0 : beta * to);
      }
    }
  }

 private:
  context ctx_;
  index_t n_;
};

TEST(ManyEpilogue, ACallersOperatorHasOneAndArgumentsAreChecked) {
  const identity op(context::cpu(2), 60);
  plain_csr<> ones{0, 60};
  for (index_t i = 0; i < 60; ++i) ones.add_row({i});
  ones.values.assign(60, 1);
  check<double>(op, ones, place(60, 4, row_major), place(60, 4, column_major), -1, true, activation::relu);
  std::vector<double> x(240), y(240), bias(4), nan{std::numeric_limits<double>::quiet_NaN(), 0};
  const const_multivector_ref from(scalar_type::f64, 60, 4, 4, row_major, x.data(), memory_space::host);
  const multivector_ref to(scalar_type::f64, 60, 4, 4, row_major, y.data(), memory_space::host);
  std::vector<double> longer(5);
  EXPECT_EQ(status_of([&] { op.apply_many_with(1, from, 0, to, {longer}); }), status::invalid_dimensions);
  EXPECT_EQ(status_of([&] { op.apply_many_with(1, from, 0, to, {std::vector<float>(4)}); }), status::invalid_argument);
  EXPECT_EQ(status_of([&] { op.apply_many_with(1, from, 0, to, {std::span(y).first(4)}); }), status::invalid_argument);
  EXPECT_EQ(status_of([&] {
              op.apply_many_with(1, from, 0, to, {bias, static_cast<activation>(2)});
            }),
            status::invalid_argument);
  x[0] = nan[0];  // is no less than 0
  op.apply_many_with(1, from, 0, to, {bias, activation::relu});
  EXPECT_NE(y[0], y[0]);
}

}  // namespace
}  // namespace tulle::test
