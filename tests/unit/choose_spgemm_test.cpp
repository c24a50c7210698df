// The choice of a kernel for C = A B: its rules, on tables made by hand.
#include "plan/choose_spgemm.hpp"

#include <array>

#include "spgemm_oracle.hpp"

namespace tulle {
namespace {

support takes_all(const spgemm_problem&, const device_info&) { return {}; }
support takes_none(const spgemm_problem&, const device_info&) { return {false, "it is a bad day"}; }

spgemm_kernel entry(std::string_view name, kernel_role role, bool mask, decltype(&takes_all) supports) {
  return {name, "the summary", backend_kind::cuda, type_set::floating, role, mask, supports, nullptr};
}

class ChooseSpgemm : public ::testing::Test {
 protected:
  device_info gpu{.backend = backend_kind::cuda, .name = "gpu"};
  spgemm_problem problem;
};

TEST_F(ChooseSpgemm, ProductionWhereverItIsInTheTable) {
  const std::array table{entry("kernel0", kernel_role::study, true, takes_all),
                         entry("gustavson", kernel_role::production, true, takes_all)};
  EXPECT_EQ(choose_spgemm(table, problem, gpu, "").kernel->name, "gustavson");
  EXPECT_EQ(choose_spgemm(table, problem, gpu, "kernel0").kernel->name, "kernel0");
}

TEST_F(ChooseSpgemm, WhatElseCanWhereTheFirstCannot) {
  const std::array table{entry("gustavson", kernel_role::production, false, takes_all),
                         entry("study", kernel_role::study, true, takes_all),
                         entry("other", kernel_role::production, true, takes_all)};
  problem.mask.emplace();
  const spgemm_choice choice = choose_spgemm(table, problem, gpu, "");
  EXPECT_EQ(choice.kernel->name, "other");
  EXPECT_NE(choice.reason.find("gustavson: it takes no mask"), std::string::npos) << choice.reason;
}

TEST_F(ChooseSpgemm, NeverAVendorsRoutineSilently) {
  const std::array table{entry("vendor", kernel_role::vendor, true, takes_all),
                         entry("gustavson", kernel_role::production, true, takes_none)};
  const auto [code, message] = test::failure_of([&] { (void)choose_spgemm(table, problem, gpu, ""); });
  EXPECT_EQ(code, status::unsupported);
  EXPECT_NE(message.find("gustavson: it is a bad day"), std::string::npos) << message;
  EXPECT_EQ(choose_spgemm(table, problem, gpu, "vendor").kernel->name, "vendor");
}

TEST_F(ChooseSpgemm, NothingForTypesThatItDoesNotTake) {
  const std::array table{entry("gustavson", kernel_role::production, true, takes_all)};
  problem.a.types.value = scalar_type::i32;
  const auto [code, message] = test::failure_of([&] { (void)choose_spgemm(table, problem, gpu, "gustavson"); });
  EXPECT_EQ(code, status::unsupported);
  EXPECT_NE(message.find("it takes no i32 values"), std::string::npos) << message;
}

TEST_F(ChooseSpgemm, SaysWhatThereIsAndWhyNot) {
  const std::array table{entry("gustavson", kernel_role::production, false, takes_none),
                         entry("other", kernel_role::production, false, takes_all)};
  auto [code, message] = test::failure_of([&] { (void)choose_spgemm(table, problem, gpu, "wrong"); });
  EXPECT_EQ(code, status::invalid_argument);
  EXPECT_NE(message.find("there are: gustavson, other"), std::string::npos) << message;
  std::tie(code, message) = test::failure_of([&] { (void)choose_spgemm(table, problem, gpu, "gustavson"); });
  EXPECT_EQ(code, status::unsupported);
  EXPECT_NE(message.find("it is a bad day"), std::string::npos) << message;
  problem.mask.emplace();
  EXPECT_EQ(test::failure_of([&] { (void)choose_spgemm(table, problem, gpu, "other"); }).first, status::unsupported);
  EXPECT_EQ(test::failure_of([&] { (void)choose_spgemm({}, problem, gpu, ""); }).first, status::unsupported);
}

}  // namespace
}  // namespace tulle
