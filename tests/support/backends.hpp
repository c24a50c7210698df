// Tests on a backend: skipped, saying why, where it is a GPU and there is none.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <tulle/core/context.hpp>

namespace tulle::test {

/// A test with a context of "cpu" (2 threads), "cpu1", "cpu5" (so many) or "cuda". Where there is no device the test is
/// skipped, and what its members are made in is the CPU's.
template <class Test>
class test_on : public Test {
 public:
  const context& ctx() const { return ctx_; }

 protected:
  explicit test_on(const std::string& backend)
      : has_device_(backend != "cuda" || cuda_device_count() > 0), ctx_(context_of(has_device_ ? backend : "cpu")) {}
  void SetUp() override {
    if (!has_device_) GTEST_SKIP() << cuda_unavailable_reason();
  }

 private:
  static context context_of(const std::string& backend) {
    if (backend == "cuda") return context::cuda();
    return context::cpu(backend == "cpu" ? 2 : std::stoi(backend.substr(3)));
  }

  bool has_device_;
  context ctx_;
};

/// Tests of either backend, named in the parameter.
class on_backend : public test_on<testing::TestWithParam<const char*>> {
 protected:
  on_backend() : test_on(GetParam()) {}
};

/// Tests of the GPU alone.
class cuda_test : public test_on<testing::Test> {
 protected:
  cuda_test() : test_on("cuda") {}
};

inline std::string backend_name(const testing::TestParamInfo<const char*>& backend) { return backend.param; }

/// The tests of `suite` on these backends, named as test_on takes them; on a CPU and a GPU.
#define TULLE_ON_BACKENDS(suite, ...) \
  INSTANTIATE_TEST_SUITE_P(backends, suite, testing::Values(__VA_ARGS__), backend_name)
#define TULLE_ON_BOTH_BACKENDS(suite) TULLE_ON_BACKENDS(suite, "cpu", "cuda")

}  // namespace tulle::test
