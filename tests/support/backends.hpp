// Tests on a backend: skipped, saying why, where it is a GPU and there is none.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <tulle/core/context.hpp>

namespace tulle::test {

/// A context of "cpu" (2 threads), "cpu1", "cpu5" (so many) or "cuda"; empty where there is no device.
inline std::optional<context> make_context(const std::string& backend) {
  if (backend != "cuda") return context::cpu(backend == "cpu" ? 2 : std::stoi(backend.substr(3)));
  if (cuda_device_count() == 0) return std::nullopt;
  return context::cuda();
}

/// What tests of one backend share: `ctx`, once set_up has run.
class with_context {
 public:
  const context& ctx() const { return *ctx_; }

 protected:
  void set_up(const std::string& backend) {
    ctx_ = make_context(backend);
    if (!ctx_) GTEST_SKIP() << cuda_unavailable_reason();
  }

 private:
  std::optional<context> ctx_;
};

/// Tests of either backend, named in the parameter.
class on_backend : public testing::TestWithParam<const char*>, public with_context {
 protected:
  void SetUp() override { set_up(GetParam()); }
};

/// Tests of the GPU alone.
class cuda_test : public testing::Test, public with_context {
 protected:
  void SetUp() override { set_up("cuda"); }
};

inline std::string backend_name(const testing::TestParamInfo<const char*>& backend) { return backend.param; }

/// The tests of `suite` on these backends, named as make_context takes them; on a CPU and a GPU.
#define TULLE_ON_BACKENDS(suite, ...) \
  INSTANTIATE_TEST_SUITE_P(backends, suite, testing::Values(__VA_ARGS__), backend_name)
#define TULLE_ON_BOTH_BACKENDS(suite) TULLE_ON_BACKENDS(suite, "cpu", "cuda")

}  // namespace tulle::test
