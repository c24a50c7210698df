// What plans of C = M o (alpha A B) + beta D refuse on either backend, naming the operand.
#include "support/backends.hpp"
#include "support/errors.hpp"
#include "support/random.hpp"
#include "support/spgemm.hpp"

namespace tulle::test {
namespace {

class SpgemmArguments : public on_backend {
 protected:
  spgemm_plan<double> plan_of(const csr_view<double, std::int64_t>& left, const spgemm_options& options = {}) const {
    return {ctx(), left, b.view(), options};
  }
  spgemm_plan<double> plan_of_a(const spgemm_options& options = {}) const { return plan_of(a.view(), options); }

  plain_csr<> a = random_csr(23, 31, 4, 1), b = random_csr(31, 19, 5, 2);
};
TULLE_ON_BOTH_BACKENDS(SpgemmArguments);

class SpgemmArgumentsCpu : public SpgemmArguments {};
TULLE_ON_BACKENDS(SpgemmArgumentsCpu, "cpu");

TEST_P(SpgemmArguments, OperandThatDoesNotFit) {
  const auto wrong = random_csr(30, 19, 2, 1);
  const auto refusal = [&](const plain_csr<>& right, const spgemm_options& options, const spgemm_terms& terms) {
    return error_of([&] { spgemm_plan<double>(ctx(), a.view(), right.view(), options, terms); });
  };
  EXPECT_EQ(refusal(wrong, {}, {}), "INVALID_DIMENSIONS: A is 23 x 31 and B is 30 x 19: the inner dimensions differ");
  EXPECT_EQ(refusal(b, {.transpose_a = true}, {}),
            "INVALID_DIMENSIONS: A^T is 31 x 23 and B is 31 x 19: the inner dimensions differ");
  EXPECT_EQ(refusal(b, {}, {.mask = wrong.view()}), "INVALID_DIMENSIONS: the mask is 30 x 19, A B is 23 x 19");
  EXPECT_EQ(refusal(b, {}, {.d = wrong.view()}), "INVALID_DIMENSIONS: D is 30 x 19, A B is 23 x 19");
}

/// The message begins with the operand and its row; a large matrix is looked at in another way than a small one.
TEST_P(SpgemmArguments, BrokenOperandAndItsRow) {
  const auto c = random_csr(23, 19, 3, 3);
  for (const std::string name : {"A", "B", "the mask", "D"}) {
    auto l = a, r = b, m = c, d = c;
    auto& broken = name == "A" ? l : name == "B" ? r : name == "D" ? d : m;
    const auto expect_refused = [&] {
      const std::string said =
          error_of([&] { spgemm_plan<double>(ctx(), l.view(), r.view(), {}, {.mask = m.view(), .d = d.view()}); });
      EXPECT_TRUE(said.starts_with("INVALID_STRUCTURE: " + name + ": row 2")) << said;
    };
    broken.colind[static_cast<std::size_t>(broken.rowptr[2])] = broken.cols;
    expect_refused();
    for (const std::int64_t offset : {std::int64_t{-1}, std::int64_t{1} << 40}) {
      broken.rowptr[3] = offset;  // comes before the column
      expect_refused();
    }
  }
}

TEST_P(SpgemmArguments, BrokenOperandWhateverItsSize) {
  for (const index_t rows : {40, 5000}) {
    SCOPED_TRACE(rows);
    auto l = random_csr(rows, 310, 4, 1);
    const auto r = random_csr(310, 190, 5, 2);
    const auto product = [&] { return plain(ctx(), spgemm_plan<double>(ctx(), l.view(), r.view()).multiply()); };
    const auto good = product();
    const index_t was = std::exchange(l.colind[static_cast<std::size_t>(l.rowptr[33])], index_t{1} << 30);
    const std::string said = error_of(product);
    EXPECT_TRUE(said.starts_with("INVALID_STRUCTURE: A: row 33")) << said;
    l.colind[static_cast<std::size_t>(l.rowptr[33])] = was;
    EXPECT_TRUE(same_bits(product(), good));
  }
}

TEST_P(SpgemmArgumentsCpu, WhatIsWrongFirst) {
  auto broken = a;
  broken.rowptr[3] = -1;  // comes before what else is wrong
  EXPECT_EQ(status_of([&] { plan_of(broken.view(), {.kernel = "no_kernel"}); }), status::invalid_structure);
  EXPECT_EQ(status_of([&] { plan_of_a({.kernel = "no_kernel"}); }), status::invalid_argument);
  auto missing = a.view();
  missing.values = nullptr;
  EXPECT_EQ(status_of([&] { plan_of(missing); }), status::null_pointer);
  missing = a.view();
  missing.nnz = -1;
  EXPECT_EQ(status_of([&] { plan_of(missing); }), status::invalid_dimensions);
  missing = a.view();
  missing.space = memory_space::device;
  EXPECT_EQ(status_of([&] { plan_of(missing); }), status::invalid_argument);
}

TEST_P(SpgemmArgumentsCpu, RefusesWhatItCannotDo) {
  EXPECT_EQ(status_of([&] { plan_of_a({.tile_size = -1}); }), status::invalid_argument);
  spgemm_plan<double> plan = plan_of_a();
  EXPECT_EQ(status_of([&] { plan.multiply(1, 2); }), status::invalid_argument) << "beta without a D";
  matrix_ref c = spgemm(ctx(), a.on(ctx()), b.on(ctx()));
  EXPECT_EQ(status_of([&] { plan.numeric(c); }), status::invalid_argument) << "no C was made yet";
  plan.multiply();
  matrix_ref other = spgemm(ctx(), a.on(ctx()), random_csr(31, 19, 4, 9).on(ctx()));
  EXPECT_EQ(status_of([&] { plan.numeric(other); }), status::invalid_dimensions);
  const matrix_ref wide = plain(ctx(), plan.multiply()).on(ctx());
  EXPECT_EQ(failure_of([&] { plan.numeric(wide); }).second, "C is CSR of f64 values with i64 offsets, that of multiply is CSR of f64 with i32");
  EXPECT_EQ(status_of([&] { plan.update_values(host_span<const double>(nullptr, a.values.size()), b.values); }), status::null_pointer);
  EXPECT_EQ(status_of([&] { plan.update_values(a.values, b.values, a.values); }),
            status::invalid_argument);
}

TEST_P(SpgemmArgumentsCpu, KernelByName) {
  EXPECT_EQ(plan_of_a().kernel(), "gustavson");
  EXPECT_EQ(plan_of_a({.kernel = "kernel0"}).kernel(), "kernel0");
  EXPECT_EQ(status_of([&] { plan_of_a({.kernel = "nonsense"}); }), status::invalid_argument);
}

}  // namespace
}  // namespace tulle::test
