// linear_operator: a caller's own class, the checks around it, and matrices of every format in a plan.
#include <cmath>
#include <limits>
#include <tulle/tulle.hpp>

#include "support/backends.hpp"
#include "support/errors.hpp"
#include "support/files.hpp"
#include "support/spmv.hpp"
#include "support/spgemm.hpp"

namespace tulle::test {
namespace {

using vec = std::vector<double>;

/// y = alpha (2 x) + beta y, n x n, without a matrix.
class twice final : public linear_operator {
 public:
  twice(const context& c, index_t n) : ctx_(c), n_(n) {}
  [[nodiscard]] const context& ctx() const noexcept override { return ctx_; }
  [[nodiscard]] shape dimensions() const noexcept override { return {n_, n_}; }
  [[nodiscard]] scalar_type vector_type() const noexcept override { return scalar_type::f64; }

 protected:
  void do_apply(double alpha, const const_vector_ref& x, double beta, const vector_ref& y, call) const override {
    const auto* from = static_cast<const double*>(x.data);
    auto* to = static_cast<double*>(y.data);
    for (index_t i = 0; i < n_; ++i) to[i] = alpha * 2 * from[i] + (beta == 0 ? 0 : beta * to[i]);
  }

 private:
  context ctx_;
  index_t n_;
};

TEST(LinearOperator, ACallersOwnIsCheckedAndRun) {
  const twice op(context::cpu(1), 3);
  vec x{1, 2, 3}, y{9, 9, 9};
  op.apply(1, x, 0, y);
  EXPECT_EQ(y, (vec{2, 4, 6}));
  EXPECT_TRUE(op.can(operation::apply));
  EXPECT_FALSE(op.can(operation::apply, true));
  EXPECT_FALSE(op.can(operation::jacobi));
  vec longer(4), dots(2);
  std::vector<float> f(3);
  EXPECT_EQ(status_of([&] { op.apply(1, longer, 0, y); }), status::invalid_dimensions);
  EXPECT_EQ(status_of([&] { op.apply(1, f, 0, y); }), status::invalid_argument);
  EXPECT_EQ(status_of([&] { op.apply(1, y, 0, y); }), status::invalid_argument);
  EXPECT_EQ(status_of([&] { op.apply(1, x, 0, y, {.transposed = true}); }), status::unsupported);
  EXPECT_EQ(status_of([&] { op.apply_dots(1, x, 0, y, x, dots); }), status::unsupported);
  EXPECT_EQ(status_of([&] { op.apply(1, const_vector_ref(scalar_type::f64, x.data(), 3, memory_space::device, 0), 0, y); }),
            status::invalid_argument);
  EXPECT_EQ(status_of([&] { op.apply(1, const_vector_ref(scalar_type::f64, nullptr, 3, memory_space::host), 0, y); }),
            status::null_pointer);
}

TEST(LinearOperator, FactorsBeyondTheTypeOfTheVectorsAreRefused) {
  const context ctx = context::cpu(1);
  const auto a = generate<float>(ctx, "gen:diagonal:n=3");
  const spmv_plan<float> plan(ctx, a);
  const linear_operator& op = plan;
  std::vector<float> x{1, 2, 3}, y(3), inverse(3, 1);
  expect_error(status::invalid_argument, "alpha = 1e+300: too large for f32", [&] { op.apply(1e300, x, 0, y); });
  expect_error(status::invalid_argument, "beta = -1e+39: too large for f32", [&] { op.apply(1, x, -1e39, y); });
  if (op.can(operation::jacobi)) {
    expect_error(status::invalid_argument, "omega", [&] { op.jacobi(1e300, x, x, inverse, y); });
  }
  expect_error(status::invalid_argument, "alpha", [&] { spgemm_plan<float>(ctx, a, a).multiply(1e300); });
  op.apply(std::numeric_limits<double>::infinity(), x, 0, y);  // asked for, and so given
  EXPECT_EQ(y[0], std::numeric_limits<float>::infinity());
  op.apply(std::numeric_limits<float>::max(), std::vector<float>{1, 1, 1}, 0, y);
}

TEST(LinearOperator, DotProductsOfF32VectorsMayBeF64) {
  const context ctx = context::cpu(2);
  const auto a = generate<float>(ctx, "gen:stencil:n=30,points=5");
  const spmv_plan<float> p(ctx, a);
  std::vector<float> x(static_cast<std::size_t>(a.cols)), y(x.size()), narrow(2);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1.0F / static_cast<float>(i + 3);
  vec wide(2), three(3);
  p.apply_dots(1, x, 0, y, x, narrow);
  const linear_operator& op = p;
  op.apply_dots(1, x, 0, y, x, wide);
  long double sum = 0, size = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sum += static_cast<long double>(x[i]) * y[i];
    size += std::abs(static_cast<long double>(x[i]) * y[i]);
  }
  const auto n = static_cast<double>(x.size());
  EXPECT_LE(std::abs(wide[0] - sum), (n + 2) * std::numeric_limits<double>::epsilon() * size);
  EXPECT_EQ(static_cast<float>(wide[0]), narrow[0]);
  EXPECT_EQ(static_cast<float>(wide[1]), narrow[1]);
  EXPECT_EQ(status_of([&] { op.apply_dots(1, x, 0, y, x, three); }), status::invalid_dimensions);
  const auto d = generate<double>(ctx, "gen:stencil:n=30,points=5");
  const spmv_plan q(ctx, d);
  const linear_operator& doubles = q;
  const vec x64(x.begin(), x.end());
  vec y64(x.size());
  EXPECT_EQ(status_of([&] { doubles.apply_dots(1, x64, 0, y64, x64, narrow); }), status::invalid_argument);
}

TEST(LinearOperator, StridedVectorsGoThroughAPlan) {
  const context ctx = context::cpu(2);
  const auto a = generate<double>(ctx, "gen:stencil:n=10,points=5");
  const spmv_plan p(ctx, a);
  const linear_operator& op = p;
  vec x(100), y(100), expected(100), wide_x(300, -1), wide_y(200, -1);
  for (std::size_t i = 0; i < 100; ++i) wide_x[3 * i] = x[i] = static_cast<double>(i % 7);
  op.apply(1, x, 0, expected);
  op.apply(1, const_vector_ref(scalar_type::f64, wide_x.data(), 100, memory_space::host, -1, 3), 0,
           vector_ref(scalar_type::f64, wide_y.data(), 100, memory_space::host, -1, 2));
  for (std::size_t i = 0; i < 100; ++i) {
    y[i] = wide_y[2 * i];
    EXPECT_EQ(wide_y[2 * i + 1], -1);
  }
  expect_applied(1, a, x, y);
}

class AnyFormat : public testing::Test {
 protected:
  /// A plan of `m` is the plan of the CSR that it came from, with its values and with others.
  void check(const matrix_ref& m, const char* what) {
    SCOPED_TRACE(what);
    for (const bool transpose : {false, true}) {
      const any_spmv_plan plan(ctx, m, {.transpose = transpose});
      expect_applies(plan, 1, transpose ? test::transposed(plain(a)).on(ctx) : clone(ctx, a.view()));
    }
    const matrix_ref c = spgemm(ctx, m, m), expected = spgemm(ctx, a, a);
    EXPECT_EQ(values_of(ctx, c), values_of(ctx, expected));
  }

  context ctx = context::cpu(2);
  csr<double> a = generate<double>(ctx, "gen:fem:n=4,dof=2");
};

TEST_F(AnyFormat, MakesAPlanAndAProduct) {
  check(a, "csr");
  check(to_csc(ctx, a.view()), "csc");
  check(to_coo(ctx, a.view()), "coo");
  check(to_ell(ctx, a.view()), "ell");
  check(to_sell(ctx, a.view()), "sell");
  check(to_bsr(ctx, a.view(), 2), "bsr");
}

TEST_F(AnyFormat, BlocksStayBlocks) {
  auto blocks = to_bsr(ctx, a.view(), 2);
  any_spmv_plan plan(ctx, blocks);
  EXPECT_EQ(plan.kernel(), "bsr");
  EXPECT_LT(plan.workspace_bytes(), blocks.values.bytes() / 4);  // nothing was converted or copied
  for (double& v : blocks.values.host()) v *= 2;
  plan.update_values();
  vec x(static_cast<std::size_t>(a.cols), 1), y(x.size());
  plan.apply(0.5, x, 0, y);
  expect_applied(1, a, x, y);
  blocks.colind.host()[0] = 1 << 20;
  EXPECT_EQ(status_of([&] { any_spmv_plan(ctx, blocks); }), status::invalid_structure);
}

TEST(BlocksPastTheLastColumn, ReadNoX) {
  const context ctx = context::cpu(1);
  // 3 x 3 in full blocks of 2, whose last places lie outside; x ends where a block would read on.
  bsr<double> a{3, 3, 9, 2, 2, to_buffer(ctx, std::vector<std::int64_t>{0, 2, 4}),
                to_buffer(ctx, std::vector<index_t>{0, 1, 0, 1}), to_buffer(ctx, vec(16, 1)), {}};
  const vec x{1, 2, 3, std::numeric_limits<double>::quiet_NaN()};
  const const_vector_ref three(scalar_type::f64, x.data(), 3, memory_space::host);
  for (const char* kernel : {"", "bsr", "csr.balanced"}) {
    vec y(3);
    any_spmv_plan(ctx, a, with_kernel(kernel)).apply(1, three, 0, y);
    EXPECT_EQ(y, (vec{6, 6, 6})) << kernel;
  }
}

TEST(OperatorFactors, AreWholeNumbersForIntegers) {
  const context ctx = context::cpu(1);
  const any_spmv_plan plan(ctx, generate<std::int32_t>(ctx, "gen:diagonal:n=3"));
  const std::vector<std::int32_t> x(3, 1);
  std::vector<std::int32_t> y(3);
  EXPECT_EQ(status_of([&] { plan.apply(0.5, x, 0, y); }), status::invalid_argument);
  EXPECT_EQ(status_of([&] { plan.apply(1, x, 1e10, y); }), status::invalid_argument);
  EXPECT_EQ(status_of([&] { plan.apply(-2, x, 0, y); }), status::success);
}

TEST_F(AnyFormat, BrokenCoordinatesAreRefused) {
  auto broken = to_coo(ctx, a.view());
  broken.rowind.host()[3] = a.rows;
  EXPECT_EQ(status_of([&] { any_spmv_plan(ctx, broken); }), status::invalid_structure);
  broken.rowind.host()[3] = 0;
  broken.colind.host()[3] = -1;
  EXPECT_EQ(status_of([&] { any_spmv_plan(ctx, broken); }), status::invalid_structure);
}

TEST(KernelNames, OfTheEnvironmentBelongToAnOperation) {
  const context ctx = context::cpu(2);
  const auto a = generate<double>(ctx, "gen:stencil:n=9,points=5");
  {
    const environment_variable kernel("TULLE_KERNEL", "kernel0");
    EXPECT_NE(spmv_plan(ctx, a).kernel(), "kernel0");
    EXPECT_EQ(spgemm_plan<double>(ctx, a, a).explain(), "kernel0: asked for by name");
  }
  {
    const environment_variable kernel("TULLE_KERNEL", "csr.rows");
    EXPECT_NE(spmv_plan(ctx, a).explain().find("csr.rows: "), std::string::npos);
    EXPECT_EQ(spgemm_plan<double>(ctx, a, a).kernel(), "gustavson");
  }
  const environment_variable kernel("TULLE_KERNEL", "nonsense");
  EXPECT_EQ(status_of([&] { spmv_plan(ctx, a); }), status::invalid_argument);
}

TEST(Products, DropWhatCancelsWhereAsked) {
  const context ctx = context::cpu(1);
  // (1 1) (1 0; -1 2) = (0 2)
  const auto a = plain_csr<>{1, 2, {0, 2}, {0, 1}, {1, 1}}.on(ctx);
  const auto b = plain_csr<>{2, 2, {0, 1, 3}, {0, 0, 1}, {1, -1, 2}}.on(ctx);
  EXPECT_EQ(spgemm(ctx, a, b).nnz, 2);
  any_spgemm_plan plan(ctx, a, b, {.eliminate_zeros = true});
  const matrix_ref c = plan.multiply();
  EXPECT_EQ(read_back(ctx, c), (plain_csr<>{1, 2, {0, 1}, {1}, {2}}));
  EXPECT_EQ(status_of([&] { plan.numeric(c); }), status::invalid_argument);
}

TEST(Products, FillArraysOfTheCaller) {
  const context ctx = context::cpu(2);
  const auto a = generate<double>(ctx, "gen:stencil:n=9,points=5");
  any_spgemm_plan plan(ctx, a, a);
  plan.symbolic();
  const auto nnz = static_cast<std::size_t>(plan.nnz());
  std::vector<std::int64_t> rowptr(82);
  std::vector<index_t> colind(nnz);
  vec values(nnz);
  plan.multiply_into({offset_type::i64, rowptr.data(), colind.data(), values.data()}, 2);
  const matrix_ref c = plan.multiply(2);
  EXPECT_EQ(rowptr.back(), plan.nnz());
  EXPECT_EQ(values, values_of(ctx, c));
  EXPECT_EQ(status_of([&] { plan.multiply_into({}); }), status::null_pointer);
}

class DotsOfManyParts : public on_backend {
 protected:
  /// One row of `longest` entries, then rows of 1500, then short ones: parts of rows begin where groups of blocks end.
  csr<double> with_long_rows(index_t longest) {
    constexpr index_t n = 2600, long_rows = 700;
    std::vector<std::int64_t> rowptr{0};
    std::vector<index_t> colind;
    for (index_t row = 0; row < n; ++row) {
      const index_t length = row == 0 ? longest : row <= long_rows ? 1500 : 3;
      for (index_t k = 0; k < length; ++k) colind.push_back(k);
      rowptr.push_back(static_cast<std::int64_t>(colind.size()));
    }
    const vec values(colind.size(), 0.5);
    return {n, n, to_buffer(ctx(), rowptr), to_buffer(ctx(), colind), to_buffer(ctx(), values)};
  }
};

/// Several groups of blocks on a GPU, and rows that blocks share; a NaN arrives as one and leaves nothing behind.
TEST_P(DotsOfManyParts, AreThoseOfYOnEveryRun) {
  const bool cuda = ctx().backend() == backend_kind::cuda;
  for (const std::string spec : {"gen:stencil:points=7,n=100", "gen:rmat:scale=17,degree=12", "1500", "2500"}) {
    const auto a = spec.starts_with("gen") ? generate<double>(ctx(), spec) : with_long_rows(std::stoi(spec));
    const auto n = static_cast<std::size_t>(a.rows);
    vec x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = 1 / static_cast<double>(i % 97 + 3);
    for (const char* kernel : cuda ? std::vector{"csr.stream", "csr5", "packed"} : std::vector{"csr.balanced", "packed"}) {
      SCOPED_TRACE(spec + " " + kernel);
      spmv_options options;
      options.kernel = kernel;
      const spmv_plan<double> plan(ctx(), a, options);
      vec with_nan = x;
      with_nan[5] = std::numeric_limits<double>::quiet_NaN();
      const auto run = [&](const vec& from, vec& to) {
        const buffer<double> in = to_buffer(ctx(), from);
        buffer<double> y(ctx(), n), dots(ctx(), 2);
        plan.apply_dots(1, in, 0, y, in, dots);
        to = to_vector(ctx(), y);
        return to_vector(ctx(), dots);
      };
      vec y;
      EXPECT_TRUE(std::isnan(run(with_nan, y)[0]));
      const vec first = run(x, y);
      EXPECT_EQ(run(x, y), first);
      long double wy = 0, yy = 0, size = 0;
      for (std::size_t i = 0; i < n; ++i) {
        wy += static_cast<long double>(x[i]) * y[i];
        yy += static_cast<long double>(y[i]) * y[i];
        size += std::abs(static_cast<long double>(x[i]) * y[i]);
      }
      const double most = (static_cast<double>(n) + 2) * std::numeric_limits<double>::epsilon();
      EXPECT_LE(std::abs(first[0] - wy), most * size);
      EXPECT_LE(std::abs(first[1] - yy), most * yy);
    }
  }
}
TULLE_ON_BOTH_BACKENDS(DotsOfManyParts);

}  // namespace
}  // namespace tulle::test
