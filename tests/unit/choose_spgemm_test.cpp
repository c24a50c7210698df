// The choice of a kernel for C = A B: its rules, on tables made by hand.
#include "plan/choose_spgemm.hpp"

#include <array>

#include "spgemm_oracle.hpp"

namespace tulle {
namespace {

support takes_all(const spgemm_problem&, const device_info&) { return {}; }
support takes_none(const spgemm_problem&, const device_info&) { return {false, "it is a bad day"}; }

spgemm_kernel entry(std::string_view name, bool reference, bool mask, decltype(&takes_all) supports) {
  return {name, "the summary", backend_kind::cuda, reference, mask, supports, nullptr, nullptr};
}

class ChooseSpgemm : public ::testing::Test {
 protected:
  device_info gpu{.backend = backend_kind::cuda, .name = "gpu"};
  spgemm_problem problem;
};

TEST_F(ChooseSpgemm, TheDefaultWhereverItIsInTheTable) {
  const std::array table{entry("kernel0", false, true, takes_all), entry("default", false, true, takes_all)};
  EXPECT_EQ(choose_spgemm(table, problem, gpu, "").kernel->name, "default");
  EXPECT_EQ(choose_spgemm(table, problem, gpu, "kernel0").kernel->name, "kernel0");
}

TEST_F(ChooseSpgemm, WhatElseCanWhereTheDefaultCannot) {
  const std::array table{entry("default", false, false, takes_all), entry("kernel0", false, true, takes_all)};
  problem.mask.emplace();
  const spgemm_choice choice = choose_spgemm(table, problem, gpu, "");
  EXPECT_EQ(choice.kernel->name, "kernel0");
  EXPECT_NE(choice.reason.find("default: it takes no mask"), std::string::npos) << choice.reason;
}

TEST_F(ChooseSpgemm, NeverAVendorsRoutineSilently) {
  const std::array table{entry("vendor", true, true, takes_all), entry("default", false, true, takes_none)};
  const auto [code, message] = test::failure_of([&] { (void)choose_spgemm(table, problem, gpu, ""); });
  EXPECT_EQ(code, status::unsupported);
  EXPECT_NE(message.find("default: it is a bad day"), std::string::npos) << message;
  EXPECT_EQ(choose_spgemm(table, problem, gpu, "vendor").kernel->name, "vendor");
}

TEST_F(ChooseSpgemm, SaysWhatThereIsAndWhyNot) {
  const std::array table{entry("default", false, false, takes_none), entry("other", false, false, takes_all)};
  auto [code, message] = test::failure_of([&] { (void)choose_spgemm(table, problem, gpu, "wrong"); });
  EXPECT_EQ(code, status::invalid_argument);
  EXPECT_NE(message.find("there are: default, other"), std::string::npos) << message;
  std::tie(code, message) = test::failure_of([&] { (void)choose_spgemm(table, problem, gpu, "default"); });
  EXPECT_EQ(code, status::unsupported);
  EXPECT_NE(message.find("it is a bad day"), std::string::npos) << message;
  problem.mask.emplace();
  EXPECT_EQ(test::failure_of([&] { (void)choose_spgemm(table, problem, gpu, "other"); }).first, status::unsupported);
  EXPECT_EQ(test::failure_of([&] { (void)choose_spgemm({}, problem, gpu, ""); }).first, status::unsupported);
}

}  // namespace
}  // namespace tulle
