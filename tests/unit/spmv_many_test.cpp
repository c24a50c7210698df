// A plan with several right-hand sides, with dot products and with Jacobi steps: results by hand, and every argument
// wrong in turn.
#include <functional>
#include <limits>
#include <tulle/tulle.hpp>

#include "support/errors.hpp"
#include "support/files.hpp"
#include "support/spmv.hpp"

namespace tulle::test {
namespace {

using enum vector_order;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

void refused(const std::function<void()>& f, status expected, const char* words) { expect_error(expected, words, f); }

multivector_view<double> view(std::vector<double>& data, index_t rows, index_t count, std::int64_t ld,
                              vector_order order) {
  return {rows, count, ld, order, data.data(), memory_space::host};
}

void apply_many(spmv_plan<double>& plan, double alpha, const multivector_view<double>& x, double beta,
                const multivector_view<double>& y) {
  plan.apply_many(alpha, multivector_view<const double>{x.rows, x.count, x.ld, x.order, x.data, x.space}, beta, y);
}

class SpmvMany : public ::testing::Test {
 protected:
  spmv_plan<double> plan_with(const std::string& kernel, bool transpose = false) {
    return spmv_plan(ctx, a, {.kernel = kernel, .transpose = transpose});
  }

  context ctx = context::cpu(2);
  csr<double> a = small_csr(ctx);
  std::vector<double> x{1, -1, 10, -10, 100, -100};  // two vectors of three, by rows
  std::vector<double> y = std::vector<double>(4, nan);
};

TEST_F(SpmvMany, MultipliesInBothOrders) {
  std::vector<double> by_columns{1, 10, 100, -1, -10, -100};
  for (const char* kernel : {"", "csr.serial", "csr.balanced"}) {
    SCOPED_TRACE(kernel);
    auto plan = plan_with(kernel);
    y.assign(4, nan);
    apply_many(plan, 1.0, view(x, 3, 2, 2, row_major), 0.0, view(y, 2, 2, 2, row_major));
    EXPECT_EQ(y, (std::vector<double>{21, -21, 300, -300}));
    apply_many(plan, 2.0, view(by_columns, 3, 2, 3, column_major), -1.0, view(y, 2, 2, 2, row_major));
    EXPECT_EQ(y, (std::vector<double>{21, -21, 300, -300}));
    apply_many(plan, 1.0, view(x, 3, 2, 2, row_major), 0.0, view(y, 2, 2, 2, column_major));
    EXPECT_EQ(y, (std::vector<double>{21, 300, -21, -300}));
    const std::vector<double> values{-1, 0.5, 4};
    plan.update_values(values);
    apply_many(plan, 1.0, view(x, 3, 2, 2, row_major), 0.0, view(y, 2, 2, 2, row_major));
    EXPECT_EQ(y, (std::vector<double>{4, -4, 400, -400}));
  }
}

TEST_F(SpmvMany, WhateverIsChosenTakesThemAndWhatIsNamedSaysSo) {
  const auto big = generate<double>(ctx, "gen:stencil:points=27,n=30");
  std::vector<double> in(static_cast<std::size_t>(big.cols) * 2, 1), out(in.size(), nan);
  const auto apply = [&](spmv_plan<double> plan) {
    apply_many(plan, 1.0, view(in, big.cols, 2, 2, row_major), 0.0, view(out, big.rows, 2, 2, row_major));
  };
  apply(spmv_plan(ctx, big));
  EXPECT_EQ(out[0], out[1]);
  refused([&] { apply(spmv_plan(ctx, big, with_kernel("coo"))); }, status::unsupported, "one right-hand side");
}

TEST_F(SpmvMany, TransposedPlansTakeThemToo) {
  for (const char* kernel : {"", "csr.transposed", "csr.balanced"}) {
    auto plan = plan_with(kernel, true);
    std::vector<double> in{1, -1, 10, -10}, out(6, nan);
    apply_many(plan, 1.0, view(in, 2, 2, 2, row_major), 0.0, view(out, 3, 2, 2, row_major));
    EXPECT_EQ(out, (std::vector<double>{1, -1, 2, -2, 30, -30})) << kernel;
  }
}

TEST_F(SpmvMany, NoVectorsAreNoWork) {
  auto plan = plan_with("");
  plan.apply_many(1.0, multivector_view<const double>{3, 0, 0, row_major, nullptr, memory_space::host}, 0.0,
             multivector_view<double>{2, 0, 2, column_major, nullptr, memory_space::host});
}

TEST_F(SpmvMany, VectorsOfOneStorageMayLieSideBySide) {
  const csr<double> square = plain_csr<>{2, 2, {0, 1, 2}, {1, 0}, {2, 3}}.on(ctx);
  spmv_plan<double> plan(ctx, square);
  std::vector<double> both{1, 2, 0, 0, 3, 4, 0, 0};  // by rows: x in columns 0 and 1, y in columns 2 and 3
  const auto in = view(both, 2, 2, 4, row_major);
  multivector_view<double> out = in;
  out.data += 2;
  apply_many(plan, 1.0, in, 0.0, out);
  EXPECT_EQ(both, (std::vector<double>{1, 2, 6, 8, 3, 4, 3, 6}));
  out.data = in.data + 1;
  refused([&] { apply_many(plan, 1.0, in, 0.0, out); }, status::invalid_argument, "X and Y overlap");
}

TEST_F(SpmvMany, NamesTheArgumentThatIsWrong) {
  auto plan = plan_with("");
  const auto in = view(x, 3, 2, 2, row_major), out = view(y, 2, 2, 2, row_major);
  const auto with = [](multivector_view<double> v, auto change) {
    change(v);
    return v;
  };
  const auto x_is = [&](auto change, status expected, const char* words) {
    refused([&] { apply_many(plan, 1.0, with(in, change), 0.0, out); }, expected, words);
  };
  x_is([](auto& v) { v.rows = 2; }, status::invalid_dimensions, "X has 2 rows, A has 3 columns");
  x_is([](auto& v) { v.count = 1; }, status::invalid_dimensions, "X has 1 vectors, Y has 2");
  x_is([](auto& v) { v.count = -1; }, status::invalid_dimensions, "X has -1 vectors");
  x_is([](auto& v) { v.ld = 1; }, status::invalid_dimensions, "X has ld = 1: must be at least 2");
  x_is([](auto& v) { v.order = column_major; }, status::invalid_dimensions, "X has ld = 2: must be at least 3");
  x_is([](auto& v) { v.ld = std::numeric_limits<std::int64_t>::max(); }, status::invalid_dimensions, "X has ld");
  x_is([](auto& v) { v.order = static_cast<vector_order>(7); }, status::invalid_argument, "order = 7");
  x_is([](auto& v) { v.data = nullptr; }, status::null_pointer, "X is null");
  x_is([](auto& v) { v.space = memory_space::device; }, status::invalid_argument, "X is in device memory");
  refused([&] { apply_many(plan, 1.0, in, 0.0, with(out, [](auto& v) { v.rows = 3; })); }, status::invalid_dimensions,
          "Y has 3 rows, A has 2 rows");
  refused([&] { apply_many(plan, 1.0, in, 0.0, with(out, [&](auto& v) { v.data = in.data; })); }, status::invalid_argument,
          "overlap");
}

TEST_F(SpmvMany, DotProductsComeWithThePass) {
  auto plan = plan_with("csr.balanced");
  const std::vector<double> in{1, 10, 100}, w{2, -1};
  std::vector<double> out{nan, nan}, dots{nan, nan};
  plan.apply_dots(1.0, in, 0.0, out, w, dots);
  EXPECT_EQ(out, (std::vector<double>{21, 300}));
  EXPECT_EQ(dots, (std::vector<double>{42 - 300, 21 * 21 + 300 * 300}));
}

TEST_F(SpmvMany, AJacobiStepIsOnePass) {
  const csr<double> square = plain_csr<>{2, 2, {0, 2, 3}, {0, 1, 1}, {2, 1, 4}}.on(ctx);
  spmv_plan<double> plan(ctx, square, with_kernel("csr.balanced"));
  const std::vector<double> in{1, 2}, b{8, 4}, inverse_diagonal{0.5, 0.25};
  std::vector<double> out{nan, nan};
  plan.jacobi(0.5, in, b, inverse_diagonal, out);
  EXPECT_EQ(out, (std::vector<double>{1 + 0.5 * 0.5 * (8 - 4), 2 + 0.5 * 0.25 * (4 - 8)}));
}

TEST_F(SpmvMany, FusedStepsNameTheArgumentThatIsWrong) {
  auto plan = plan_with("");
  const std::vector<double> in{1, 10, 100}, w{2, -1}, three(3);
  std::vector<double> out(2), dots(2), long_dots(3);
  const auto apply = [&](host_span<const double> x_, host_span<double> y_, host_span<const double> w_,
                         host_span<double> dots_) { plan.apply_dots(1.0, x_, 0.0, y_, w_, dots_); };
  refused([&] { apply(w, out, w, dots); }, status::invalid_dimensions, "x has 2 elements, A has 3 columns");
  refused([&] { apply(in, long_dots, w, dots); }, status::invalid_dimensions, "y has 3 elements, A has 2 rows");
  refused([&] { apply(in, out, three, dots); }, status::invalid_dimensions, "w has 3 elements, A has 2 rows");
  refused([&] { apply(in, out, w, long_dots); }, status::invalid_dimensions, "dots has 3 elements, 2 are needed");
  refused([&] { apply(in, out, host_span<const double>(nullptr, 2), dots); }, status::null_pointer, "w is null");
  refused([&] { apply(in, out, out, dots); }, status::invalid_argument, "w and y overlap");
  refused([&] { apply(in, out, w, out); }, status::invalid_argument, "dots and y overlap");

  refused([&] { plan.jacobi(1.0, in, w, w, out); }, status::invalid_dimensions, "square");
  const csr<double> square = plain_csr<>{2, 2, {0, 1, 2}, {0, 1}, {2, 4}}.on(ctx);
  spmv_plan<double> step(ctx, square);
  refused([&] { step.jacobi(1.0, in, w, w, out); }, status::invalid_dimensions, "x has 3 elements");
  refused([&] { step.jacobi(1.0, w, in, w, out); }, status::invalid_dimensions, "b has 3 elements");
  refused([&] { step.jacobi(1.0, w, w, in, out); }, status::invalid_dimensions, "inverse_diagonal has 3 elements");
  refused([&] { step.jacobi(1.0, w, out, w, out); }, status::invalid_argument, "b and y overlap");
  const device_span<const double> far_w(w.data(), 2);
  const device_span<double> far_out(out.data(), 2);
  refused([&] { step.jacobi(1.0, far_w, far_w, far_w, far_out); }, status::invalid_argument, "device memory");
}

TEST_F(SpmvMany, TransposedPlansSwapTheirDimensions) {
  const temporary_directory directory;
  const environment_variable cache("TULLE_CACHE_DIR", directory.path());
  for (const spmv_effort effort : {spmv_effort::none, spmv_effort::standard}) {
    spmv_plan<double> plan(ctx, a, with_effort(effort, true));
    EXPECT_EQ(plan.dimensions(), (shape{3, 2}));
    EXPECT_EQ(plan.stats().rows, 3);
    EXPECT_EQ(plan.kernel() == "csr.transposed", effort == spmv_effort::none);
    const std::vector<double> in{1, 10};
    std::vector<double> out(3, nan);
    plan.apply(1.0, in, 0.0, out);
    EXPECT_EQ(out, (std::vector<double>{1, 2, 30}));
    std::vector<double> short_out(2);
    refused([&] { plan.apply(1.0, in, 0.0, short_out); }, status::invalid_dimensions,
            "y has 2 elements, A^T has 3 rows");
    plan.autotune();
    plan.apply(1.0, in, 0.0, out);
    EXPECT_EQ(out, (std::vector<double>{1, 2, 30})) << plan.explain();
    EXPECT_NE(plan.kernel(), "csr.transposed");
  }
}

}  // namespace
}  // namespace tulle::test
