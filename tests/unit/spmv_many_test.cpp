// A plan with several right-hand sides, with dot products and with Jacobi steps: results by hand, and every argument
// wrong in turn.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <tulle/tulle.hpp>
#include <vector>

#include "core/backends.hpp"

namespace tulle {
namespace {

using enum vector_order;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// The status and the message must be right.
void refused(const std::function<void()>& f, status expected, const std::string& words) {
  try {
    f();
    ADD_FAILURE() << "nothing was thrown where '" << words << "' should be refused";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), expected) << e.what();
    EXPECT_NE(std::string(e.what()).find(words), std::string::npos)
        << "'" << e.what() << "' does not say '" << words << "'";
  }
}

multivector_view<double> view(std::vector<double>& data, index_t rows, index_t count, std::int64_t ld,
                              vector_order order) {
  return {rows, count, ld, order, data.data(), memory_space::host};
}

class SpmvMany : public ::testing::Test {
 protected:
  /// [[1 2 0] [0 0 3]]
  csr<double> matrix() {
    return {2, 3, to_buffer<std::int64_t>(ctx, std::vector<std::int64_t>{0, 2, 3}),
            to_buffer<index_t>(ctx, std::vector<index_t>{0, 1, 2}),
            to_buffer<double>(ctx, std::vector<double>{1, 2, 3})};
  }
  spmv_plan<double> plan_with(const std::string& kernel, bool transpose = false) {
    spmv_options options;
    options.kernel = kernel;
    options.transpose = transpose;
    return spmv_plan(ctx, a, options);
  }

  context ctx = context::cpu(2);
  csr<double> a = matrix();
  std::vector<double> x{1, -1, 10, -10, 100, -100};  // two vectors of three, by rows
  std::vector<double> y = std::vector<double>(4, nan);
};

TEST_F(SpmvMany, MultipliesInBothOrders) {
  std::vector<double> by_columns{1, 10, 100, -1, -10, -100};
  for (const char* kernel : {"", "csr.serial", "csr.balanced"}) {
    SCOPED_TRACE(kernel);
    auto plan = plan_with(kernel);
    y.assign(4, nan);
    plan.apply(1.0, view(x, 3, 2, 2, row_major), 0.0, view(y, 2, 2, 2, row_major));
    EXPECT_EQ(y, (std::vector<double>{21, -21, 300, -300}));
    plan.apply(2.0, view(by_columns, 3, 2, 3, column_major), -1.0, view(y, 2, 2, 2, row_major));
    EXPECT_EQ(y, (std::vector<double>{21, -21, 300, -300}));
    plan.apply(1.0, view(x, 3, 2, 2, row_major), 0.0, view(y, 2, 2, 2, column_major));
    EXPECT_EQ(y, (std::vector<double>{21, 300, -21, -300}));
    const std::vector<double> values{-1, 0.5, 4};
    plan.update_values(values);
    plan.apply(1.0, view(x, 3, 2, 2, row_major), 0.0, view(y, 2, 2, 2, row_major));
    EXPECT_EQ(y, (std::vector<double>{4, -4, 400, -400}));
  }
}

TEST_F(SpmvMany, WhateverIsChosenTakesThemAndWhatIsNamedSaysSo) {
  const auto big = generate<double>(ctx, "gen:stencil:points=27,n=30");
  std::vector<double> in(static_cast<std::size_t>(big.cols) * 2, 1), out(in.size(), nan);
  const auto apply = [&](spmv_plan<double> plan) {
    plan.apply(1.0, view(in, big.cols, 2, 2, row_major), 0.0, view(out, big.rows, 2, 2, row_major));
  };
  apply(spmv_plan(ctx, big));
  EXPECT_EQ(out[0], out[1]);
  spmv_options options;
  options.kernel = "coo";
  refused([&] { apply(spmv_plan(ctx, big, options)); }, status::unsupported, "one right-hand side");
}

TEST_F(SpmvMany, TransposedPlansTakeThemToo) {
  for (const char* kernel : {"", "csr.transposed", "csr.balanced"}) {
    auto plan = plan_with(kernel, true);
    std::vector<double> in{1, -1, 10, -10}, out(6, nan);
    plan.apply(1.0, view(in, 2, 2, 2, row_major), 0.0, view(out, 3, 2, 2, row_major));
    EXPECT_EQ(out, (std::vector<double>{1, -1, 2, -2, 30, -30})) << kernel;
  }
}

TEST_F(SpmvMany, NoVectorsAreNoWork) {
  auto plan = plan_with("");
  plan.apply(1.0, multivector_view<const double>{3, 0, 0, row_major, nullptr, memory_space::host}, 0.0,
             multivector_view<double>{2, 0, 2, column_major, nullptr, memory_space::host});
}

TEST_F(SpmvMany, VectorsOfOneStorageMayLieSideBySide) {
  const csr<double> square{2, 2, to_buffer<std::int64_t>(ctx, std::vector<std::int64_t>{0, 1, 2}),
                           to_buffer<index_t>(ctx, std::vector<index_t>{1, 0}),
                           to_buffer<double>(ctx, std::vector<double>{2, 3})};
  spmv_plan<double> plan(ctx, square);
  std::vector<double> both{1, 2, 0, 0, 3, 4, 0, 0};  // by rows: x in columns 0 and 1, y in columns 2 and 3
  const auto in = view(both, 2, 2, 4, row_major);
  multivector_view<double> out = in;
  out.data += 2;
  plan.apply(1.0, in, 0.0, out);
  EXPECT_EQ(both, (std::vector<double>{1, 2, 6, 8, 3, 4, 3, 6}));
  out.data = in.data + 1;
  refused([&] { plan.apply(1.0, in, 0.0, out); }, status::invalid_argument, "X and Y overlap");
}

TEST_F(SpmvMany, NamesTheArgumentThatIsWrong) {
  auto plan = plan_with("");
  const auto in = view(x, 3, 2, 2, row_major), out = view(y, 2, 2, 2, row_major);
  const auto with = [](multivector_view<double> v, auto change) {
    change(v);
    return v;
  };
  const auto x_is = [&](auto change, status expected, const char* words) {
    refused([&] { plan.apply(1.0, with(in, change), 0.0, out); }, expected, words);
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
  refused([&] { plan.apply(1.0, in, 0.0, with(out, [](auto& v) { v.rows = 3; })); }, status::invalid_dimensions,
          "Y has 3 rows, A has 2 rows");
  refused([&] { plan.apply(1.0, in, 0.0, with(out, [&](auto& v) { v.data = in.data; })); }, status::invalid_argument,
          "overlap");
}

/// False where the kernel has no such pass.
bool runs(const std::function<void()>& f) {
  try {
    f();
    return true;
  } catch (const error& e) {
    if (e.code() != status::unsupported) throw;
    return false;
  }
}

TEST_F(SpmvMany, DotProductsComeWithThePass) {
  auto plan = plan_with("csr.balanced");
  const std::vector<double> in{1, 10, 100}, w{2, -1};
  std::vector<double> out{nan, nan}, dots{nan, nan};
  if (!runs([&] { plan.apply_dots(1.0, in, 0.0, out, w, dots); })) GTEST_SKIP() << "csr.balanced has no such pass";
  EXPECT_EQ(out, (std::vector<double>{21, 300}));
  EXPECT_EQ(dots, (std::vector<double>{42 - 300, 21 * 21 + 300 * 300}));
}

TEST_F(SpmvMany, AJacobiStepIsOnePass) {
  const csr<double> square{2, 2, to_buffer<std::int64_t>(ctx, std::vector<std::int64_t>{0, 2, 3}),
                           to_buffer<index_t>(ctx, std::vector<index_t>{0, 1, 1}),
                           to_buffer<double>(ctx, std::vector<double>{2, 1, 4})};
  spmv_options options;
  options.kernel = "csr.balanced";
  spmv_plan<double> plan(ctx, square, options);
  const std::vector<double> in{1, 2}, b{8, 4}, inverse_diagonal{0.5, 0.25};
  std::vector<double> out{nan, nan};
  if (!runs([&] { plan.jacobi(0.5, in, b, inverse_diagonal, out); })) GTEST_SKIP() << "csr.balanced has no such pass";
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
  const csr<double> square{2, 2, to_buffer<std::int64_t>(ctx, std::vector<std::int64_t>{0, 1, 2}),
                           to_buffer<index_t>(ctx, std::vector<index_t>{0, 1}),
                           to_buffer<double>(ctx, std::vector<double>{2, 4})};
  spmv_plan<double> step(ctx, square);
  refused([&] { step.jacobi(1.0, in, w, w, out); }, status::invalid_dimensions, "x has 3 elements");
  refused([&] { step.jacobi(1.0, w, in, w, out); }, status::invalid_dimensions, "b has 3 elements");
  refused([&] { step.jacobi(1.0, w, w, in, out); }, status::invalid_dimensions, "inverse_diagonal has 3 elements");
  refused([&] { step.jacobi(1.0, w, out, w, out); }, status::invalid_argument, "b and y overlap");
  refused(
      [&] {
        step.jacobi(1.0, device_span<const double>(w.data(), 2), device_span<const double>(w.data(), 2),
                    device_span<const double>(w.data(), 2), device_span<double>(out.data(), 2));
      },
      status::invalid_argument, "device memory");
}

TEST_F(SpmvMany, TransposedPlansTurnTheirDimensions) {
  const auto directory = std::filesystem::path(::testing::TempDir()) / "tulle_transposed_test";
  ASSERT_EQ(setenv("TULLE_CACHE_DIR", directory.c_str(), 1), 0);
  for (const spmv_effort effort : {spmv_effort::none, spmv_effort::standard}) {
    spmv_options options;
    options.transpose = true;
    options.effort = effort;
    spmv_plan<double> plan(ctx, a, options);
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
  unsetenv("TULLE_CACHE_DIR");
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace tulle
