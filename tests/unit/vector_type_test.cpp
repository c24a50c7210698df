// Plans whose vectors are of another type than the matrix's values.
#include <gtest/gtest.h>

#include <string>
#include <tulle/tulle.hpp>
#include <vector>

#include "support/errors.hpp"
#include "support/spmv.hpp"

namespace tulle::test {
namespace {

const context ctx = context::cpu(2);

/// A matrix of 1/3 and the like, whose squares f32 does not hold.
csr<float> thirds(index_t n) {
  csr<float> a = generate<float>(ctx, "gen:stencil:n=" + std::to_string(n));
  for (std::size_t k = 0; k < a.values.size(); ++k) a.values.data()[k] = 1.0f / static_cast<float>(3 + k % 7);
  return a;
}

const spmv_options under_f64{.vector_type = scalar_type::f64};

/// y against the same product with the values widened.
void expect_as_exact_as_f64(const any_spmv_plan& plan, const csr<float>& a) {
  const plain_csr<float> narrow = plain(a);
  const plain_csr<> wide{a.rows, a.cols, narrow.rowptr, narrow.colind, {narrow.values.begin(), narrow.values.end()}};
  SCOPED_TRACE(plan.explain());
  expect_applies(plan, 1, (plan.matrix_label() == "A" ? wide : transposed(wide)).on(ctx));
}

TEST(VectorType, SumsAreAsExactAsTheVectors) {
  const csr<float> a = thirds(40);
  for (const spmv_effort effort : {spmv_effort::none, spmv_effort::standard, spmv_effort::max}) {
    for (const bool transpose : {false, true}) {
      any_spmv_plan plan(ctx, a, {.effort = effort, .transpose = transpose, .vector_type = scalar_type::f64});
      EXPECT_EQ(plan.vector_type(), scalar_type::f64);
      expect_as_exact_as_f64(plan, a);
      plan.autotune();
      expect_as_exact_as_f64(plan, a);
    }
  }
}

TEST(VectorType, NewValuesAreOfTheMatrixsType) {
  csr<float> a = thirds(20);
  any_spmv_plan plan(ctx, a, under_f64);
  for (float& v : a.values.host()) v = -v;
  plan.update_values();
  expect_as_exact_as_f64(plan, a);
  const std::vector<double> wide(a.values.size(), 1);
  EXPECT_EQ(status_of([&] { plan.update_values(wide); }), status::invalid_argument);
}

TEST(VectorType, OtherVectorsAreRefused) {
  const csr<float> a = thirds(20);
  const any_spmv_plan plan(ctx, a, under_f64);
  const std::vector<float> x(static_cast<std::size_t>(a.cols), 1);
  std::vector<float> y(static_cast<std::size_t>(a.rows));
  EXPECT_EQ(status_of([&] { plan.apply(1, x, 0, y); }), status::invalid_argument);
}

TEST(VectorType, WhatNoKernelHasIsRefused) {
  const csr<double> a = generate<double>(ctx, "gen:stencil:n=20");
  expect_error(status::unsupported, "f64 values under f32 vectors",
               [&] { any_spmv_plan(ctx, a, {.vector_type = scalar_type::f32}); });
  expect_error(status::invalid_argument, "no kernel 'bsr' on backend cpu for f32 values under f64 vectors",
               [&] { any_spmv_plan(ctx, thirds(5), {.kernel = "bsr", .vector_type = scalar_type::f64}); });
}

TEST(VectorType, TheKernelIsThatOfF64) {
  for (const char* spec : {"gen:stencil:n=10", "gen:stencil:n=40", "gen:uniform:n=300000,degree=8"}) {
    const any_spmv_plan narrow(ctx, generate<float>(ctx, spec), under_f64), wide(ctx, generate<double>(ctx, spec));
    EXPECT_EQ(narrow.kernel(), wide.kernel()) << spec;
    for (const operation what : {operation::apply_many, operation::apply_dots, operation::jacobi}) {
      EXPECT_TRUE(narrow.can(what)) << spec;
    }
  }
}

TEST(VectorType, TheMatrixsOwnTypeChangesNothing) {
  const csr<double> a = generate<double>(ctx, "gen:stencil:n=20");
  EXPECT_EQ(any_spmv_plan(ctx, a, under_f64).kernel(), any_spmv_plan(ctx, a).kernel());
}

}  // namespace
}  // namespace tulle::test
