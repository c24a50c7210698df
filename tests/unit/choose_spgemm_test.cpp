// The choice of a kernel for C = A B: its rules, on tables made by hand.
#include "plan/choose_spgemm.hpp"

#include <array>

#include "support/errors.hpp"

namespace tulle::test {
namespace {

support takes_none(const spgemm_problem&, const device_info&) { return {false, "it is a bad day"}; }

spgemm_kernel entry(std::string_view name, kernel_role role, bool mask, decltype(&supports_every) supports) {
  return {name, "the summary", backend_kind::cuda, type_set::floating, role, mask, supports, nullptr};
}

class ChooseSpgemm : public ::testing::Test {
 protected:
  device_info gpu{.backend = backend_kind::cuda, .name = "gpu"};
  spgemm_problem problem;
};

TEST_F(ChooseSpgemm, ProductionWhereverItIsInTheTable) {
  const std::array table{entry("kernel0", kernel_role::study, true, supports_every),
                         entry("gustavson", kernel_role::production, true, supports_every)};
  EXPECT_EQ(choose_spgemm(table, problem, gpu, "").kernel->name, "gustavson");
  EXPECT_EQ(choose_spgemm(table, problem, gpu, "kernel0").kernel->name, "kernel0");
}

TEST_F(ChooseSpgemm, WhatElseCanWhereTheFirstCannot) {
  const std::array table{entry("gustavson", kernel_role::production, false, supports_every),
                         entry("study", kernel_role::study, true, supports_every),
                         entry("other", kernel_role::production, true, supports_every)};
  problem.mask.emplace();
  const spgemm_choice choice = choose_spgemm(table, problem, gpu, "");
  EXPECT_EQ(choice.kernel->name, "other");
  EXPECT_NE(choice.reason.find("gustavson: it takes no mask"), std::string::npos) << choice.reason;
}

TEST_F(ChooseSpgemm, NeverAVendorsRoutineSilently) {
  const std::array table{entry("vendor", kernel_role::vendor, true, supports_every),
                         entry("gustavson", kernel_role::production, true, takes_none)};
  expect_error(status::unsupported, "gustavson: it is a bad day", [&] { (void)choose_spgemm(table, problem, gpu, ""); });
  EXPECT_EQ(choose_spgemm(table, problem, gpu, "vendor").kernel->name, "vendor");
}

TEST_F(ChooseSpgemm, NothingForTypesThatItDoesNotTake) {
  const std::array table{entry("gustavson", kernel_role::production, true, supports_every)};
  problem.a.types.value = scalar_type::i32;
  expect_error(status::unsupported, "it takes no i32 values", [&] { (void)choose_spgemm(table, problem, gpu, "gustavson"); });
}

TEST_F(ChooseSpgemm, SaysWhatThereIsAndWhyNot) {
  const std::array table{entry("gustavson", kernel_role::production, false, takes_none),
                         entry("other", kernel_role::production, false, supports_every)};
  expect_error(status::invalid_argument, "there are: gustavson, other", [&] { (void)choose_spgemm(table, problem, gpu, "wrong"); });
  expect_error(status::unsupported, "it is a bad day", [&] { (void)choose_spgemm(table, problem, gpu, "gustavson"); });
  problem.mask.emplace();
  EXPECT_EQ(status_of([&] { (void)choose_spgemm(table, problem, gpu, "other"); }), status::unsupported);
  EXPECT_EQ(status_of([&] { (void)choose_spgemm({}, problem, gpu, ""); }), status::unsupported);
}

}  // namespace
}  // namespace tulle::test
