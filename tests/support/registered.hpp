// Tests that are registered when the program starts: one for each kernel, matrix and combination of types.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <tulle/core/context.hpp>
#include <utility>

namespace tulle::test {

class function_test : public testing::Test {
 public:
  explicit function_test(std::function<void()> body) : body_(std::move(body)) {}
  void TestBody() override { body_(); }

 private:
  std::function<void()> body_;
};

inline void add_test(const char* suite, const std::string& name, std::function<void()> body) {
  testing::RegisterTest(suite, name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                        [body = std::move(body)]() -> testing::Test* { return new function_test(body); });
}

/// TULLE_CONFORMANCE=quick: fewer types and factors, and nothing that takes minutes under a sanitizer.
inline bool quick() {
  const char* text = std::getenv("TULLE_CONFORMANCE");
  return text != nullptr && std::string_view(text) == "quick";
}

/// Registers the tests of the CPU and of the GPU (without one a test that is skipped, saying why), and runs them.
/// `add_past_2_31` adds those of the GPU that are left out of quick runs.
inline int run_registered(int argc, char** argv, const char* suite, void (*add_backend)(const context&),
                          void (*add_past_2_31)(const context&)) {
  testing::InitGoogleTest(&argc, argv);
  add_backend(context::cpu(3));  // an odd number, so that parts are unequal
  if (cuda_device_count() > 0) {
    const context ctx = context::cuda();
    add_backend(ctx);
    if (!quick()) add_past_2_31(ctx);
  } else {
    add_test(suite, "cuda", [] { GTEST_SKIP() << cuda_unavailable_reason(); });
  }
  return RUN_ALL_TESTS();
}

}  // namespace tulle::test
