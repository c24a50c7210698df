// Tests that are registered when the program starts: one for each kernel, matrix and combination of types.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
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

}  // namespace tulle::test
