// Code that would read or lose what is gone does not compile; what is given away is owned.
#include <gtest/gtest.h>

#include <array>
#include <span>
#include <tulle/tulle.hpp>
#include <vector>

#include "support/spmv.hpp"

namespace tulle::test {
namespace {

using plan = spmv_plan<double>;

template <class X, class Y>
concept applies = requires(const plan& p, X&& x, Y&& y) { p.apply(1.0, std::forward<X>(x), 0.0, std::forward<Y>(y)); };
template <class V>
concept updates = requires(plan& p, V&& v) { p.update_values(std::forward<V>(v)); };

using vec = std::vector<double>;
// A result that would be lost.
static_assert(applies<vec&, vec&> && applies<const vec&, vec&> && applies<vec, vec&>);
static_assert(!applies<vec&, vec> && !applies<vec&, const vec&>);
static_assert(!applies<buffer<double>&, buffer<double>> && applies<const buffer<double>&, buffer<double>&>);
static_assert(!applies<std::array<double, 3>&, std::array<double, 3>>);
// Whatever holds numbers in a row is taken.
static_assert(applies<std::span<const double>, std::span<double>> && applies<std::array<double, 3>&, std::array<double, 3>&>);
static_assert(applies<host_span<const double>, host_span<double>> && applies<device_span<const double>, device_span<double>>);
// Of the plan's type.
static_assert(!applies<std::vector<float>&, vec&> && !applies<vec&, std::vector<float>&>);
// Values that would be gone when the kernel reads them.
static_assert(updates<vec&> && updates<std::span<const double>> && updates<device_span<const double>>);
static_assert(!updates<vec> && !updates<const vec> && !updates<std::array<double, 3>>);
static_assert(!std::is_constructible_v<vector_ref, vec> && std::is_constructible_v<const_vector_ref, vec>);
static_assert(!std::is_constructible_v<host_span<double>, vec> && std::is_constructible_v<host_span<const double>, vec>);

TEST(Lifetime, PlanOwnsATemporaryMatrix) {
  const context ctx = context::cpu(2);
  const auto make = [&](const char* kernel) {
    return spmv_plan(ctx, generate<double>(ctx, "gen:stencil:n=20,points=5"), with_kernel(kernel));
  };
  const auto a = generate<double>(ctx, "gen:stencil:n=20,points=5");
  vec x(static_cast<std::size_t>(a.cols), 1), expected(x.size()), y(x.size());
  for (const char* kernel : {"csr.serial", "csr.balanced", "packed"}) {
    spmv_plan(ctx, a, with_kernel(kernel)).apply(1.0, x, 0.0, expected);
    const auto owner = make(kernel);
    const auto other = make(kernel);  // in memory that a matrix which was not kept would have left
    owner.apply(1.0, x, 0.0, y);
    EXPECT_EQ(y, expected) << kernel;
  }
}

TEST(Lifetime, ProductsOwnTheirArrays) {
  const context ctx = context::cpu(2);
  matrix_ref c = spgemm(ctx, generate<double>(ctx, "gen:stencil:n=9,points=5"), generate<double>(ctx, "gen:stencil:n=9,points=5"));
  const matrix_ref copy = c;
  c = spgemm(ctx, c, copy);  // a product goes into the next as it is
  EXPECT_EQ(c.rows, 81);
  any_spmv_plan p(ctx, copy);
  c = {};
  vec x(81, 1), y(81);
  p.apply(1.0, x, 0.0, y);
  EXPECT_TRUE(copy.owner != nullptr);
}

TEST(Lifetime, ValuesInPlaceAreSeenByUpdateValues) {
  const context ctx = context::cpu(2);
  for (const char* kernel : {"csr.serial", "csr.rows", "csr.balanced", "coo", "ell", "sell", "bsr", "packed"}) {
    auto a = generate<double>(ctx, "gen:stencil:n=40,points=5");
    spmv_plan p(ctx, a, with_kernel(kernel));
    vec x(static_cast<std::size_t>(a.cols), 1), y(x.size()), expected(x.size());
    for (double& v : a.values.host()) v = 2;
    p.update_values();
    p.apply(1.0, x, 0.0, y);
    for (index_t r = 0; r < a.rows; ++r) expected[r] = 2.0 * static_cast<double>(a.rowptr.host()[r + 1] - a.rowptr.host()[r]);
    EXPECT_EQ(y, expected) << kernel;
  }
}

}  // namespace
}  // namespace tulle::test
