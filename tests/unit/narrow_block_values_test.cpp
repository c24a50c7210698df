// Blocks whose f64 values all are floats: stored as floats, with the bits of before.
#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <tulle/tulle.hpp>
#include <vector>

#include "support/backends.hpp"
#include "support/plain_csr.hpp"
#include "support/random.hpp"

namespace tulle::test {
namespace {

/// Enough values for each of two threads of a CPU to narrow; and `last` as the last value.
csr<double> mesh(index_t dof, double (*make)(double), double last = 0.5) {
  csr<double> a =
      generate<double>(context::cpu(2), "gen:fem:dof=" + std::to_string(dof) + ",n=" + (dof < 3 ? "18" : "12"));
  const std::vector<double> random = random_numbers(a.values.size(), 9);
  for (std::size_t i = 0; i < random.size(); ++i) a.values.data()[i] = make(random[i]);
  a.values.data()[random.size() - 1] = last;
  return a;
}
double to_f32(double v) { return static_cast<float>(v); }
double to_bf16(double v) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(v)) & 0xffff0000u);
}
double as_it_is(double v) { return v; }

class NarrowBlockValues : public on_backend {
 protected:
  any_spmv_plan plan_of(const matrix_ref& a, std::string kernel = "bin_bsr.compact") {
    return any_spmv_plan(ctx(), a, {.kernel = std::move(kernel)});
  }
  static std::string storage_of(const any_spmv_plan& plan) { return std::string(plan.stored().shares.at(0).storage); }
  /// A x, with dot products and a Jacobi step; the last rows, whose blocks one value may have changed, left out.
  std::vector<std::vector<double>> results(const linear_operator& plan) {
    const index_t n = plan.dimensions().rows;
    const auto random = [&](std::uint64_t seed) {
      return to_buffer(ctx(), random_numbers(static_cast<std::size_t>(n), seed));
    };
    const buffer<double> x = random(1), w = random(2), d = random(3);
    buffer<double> y(ctx(), static_cast<std::size_t>(n)), dots(ctx(), 2), many(ctx(), 3 * y.size());
    std::vector<std::vector<double>> all;
    const auto keep = [&](const buffer<double>& v) {
      all.push_back(to_vector(ctx(), v));
      if (v.size() >= y.size()) all.back().resize(y.size() - 8);
    };
    plan.apply(1, x, 0, y), keep(y);
    plan.apply(2, x, -1, y), keep(y);
    plan.jacobi(0.5, x, w, d, y), keep(y);
    plan.apply_dots(1, x, 0, y, w, dots), keep(y);
    const buffer<double> from = to_buffer(ctx(), random_numbers(many.size(), 4));
    plan.apply_many(1, multivector_view<const double>{n, 3, n, vector_order::column_major, from.data(), ctx().space()},
                    0, multivector_view<double>{n, 3, n, vector_order::column_major, many.data(), ctx().space()});
    keep(many);
    return all;
  }
};

TEST_P(NarrowBlockValues, GiveTheBitsOfWholeOnes) {
  const bool on_device = ctx().backend() == backend_kind::cuda;
  for (const index_t dof : {2, 3, 6}) {
    struct kind {
      double (*make)(double);
      const char* storage;
    };
    for (const auto& [make, storage] : {kind{to_f32, "f32"}, {to_bf16, on_device ? "bf16" : "f32"}}) {
      SCOPED_TRACE(std::to_string(dof) + " " + storage);
      const csr<double> narrow_ones = mesh(dof, make), not_all = mesh(dof, make, 1.0 / 3);
      const any_spmv_plan narrow = plan_of(narrow_ones), whole = plan_of(not_all);
      EXPECT_EQ(storage_of(narrow), storage);
      EXPECT_EQ(storage_of(whole), "f64");
      EXPECT_LT(narrow.matrix_bytes(), whole.matrix_bytes() * 3 / 4);
      EXPECT_NE(narrow.explain().find(std::string("values=") + storage), std::string::npos) << narrow.explain();
      EXPECT_EQ(results(narrow), results(whole));
    }
  }
}

TEST_P(NarrowBlockValues, FollowNewValues) {
  const csr<double> floats = mesh(3, to_f32), others = mesh(3, as_it_is),
                    small = mesh(3, [](double v) { return to_f32(v / 4); });
  any_spmv_plan plan = plan_of(floats);
  plan.update_values(small.values);
  EXPECT_EQ(storage_of(plan), "f32");
  EXPECT_EQ(results(plan), results(plan_of(small)));
  plan.update_values(others.values);
  EXPECT_EQ(storage_of(plan), "f64");
  EXPECT_EQ(results(plan), results(plan_of(others)));
  plan.update_values(floats.values);
  EXPECT_EQ(storage_of(plan), "f64") << "whole values are not looked at again";
  EXPECT_EQ(results(plan), results(plan_of(floats)));
}

TEST_P(NarrowBlockValues, OfBlocksThatAreGiven) {
  const csr<double> a = mesh(3, to_f32);
  const bsr<double> blocks = to_bsr(context::cpu(2), a.view(), 3);
  const any_spmv_plan plan = plan_of(blocks),
                      of_csr = any_spmv_plan(ctx(), a, {.kernel = "bin_bsr.compact", .block = 3});
  EXPECT_EQ(storage_of(plan), "f32");
  EXPECT_EQ(results(plan), results(of_csr));
}

/// The sum of repeated floats may be none.
TEST_P(NarrowBlockValues, RepeatedEntriesAreAddedFirst) {
  const csr<double> a = mesh(3, to_f32);
  std::vector<std::int64_t> rowptr{0};
  std::vector<index_t> colind;
  std::vector<double> values, sums;
  for (index_t r = 0; r < a.view().rows; ++r) {
    for (auto k = a.view().rowptr[r]; k < a.view().rowptr[r + 1]; ++k) {
      for (const double v : {a.view().values[k], 0x1p-40}) {
        colind.push_back(a.view().colind[k]);
        values.push_back(v);
      }
      sums.push_back(a.view().values[k] + 0x1p-40);
    }
    rowptr.push_back(static_cast<std::int64_t>(colind.size()));
  }
  const csr_view<double, std::int64_t> twice{a.view().rows, a.view().cols, rowptr.back(),
                                             rowptr.data(), colind.data(), values.data()};
  csr_view<double, std::int64_t> once = a.view();
  once.values = sums.data();
  const any_spmv_plan plan = plan_of(twice);
  EXPECT_EQ(storage_of(plan), "f64");
  EXPECT_EQ(results(plan), results(plan_of(once)));
}

TULLE_ON_BOTH_BACKENDS(NarrowBlockValues);

}  // namespace
}  // namespace tulle::test
