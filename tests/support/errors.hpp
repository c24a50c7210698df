// What a call throws.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <tulle/core/status.hpp>
#include <utility>

namespace tulle::test {

/// The status and the message of what `call` throws; SUCCESS where it throws nothing.
template <class F>
std::pair<status, std::string> failure_of(F&& call) {
  try {
    call();
  } catch (const error& e) {
    EXPECT_STRNE(e.what(), "");
    return {e.code(), e.what()};
  }
  return {status::success, ""};
}
template <class F>
status status_of(F&& call) {
  return failure_of(call).first;
}

/// "STATUS: message" of what `call` throws; empty where it throws nothing.
template <class F>
std::string error_of(F&& call) {
  const auto [code, message] = failure_of(call);
  return code == status::success ? "" : std::string(name(code)) + ": " + message;
}

/// Expects an error of this status whose message has `words`. Returns the message.
template <class F>
std::string expect_error(status code, std::string_view words, F&& call) {
  auto [found, message] = failure_of(call);
  EXPECT_EQ(name(found), name(code)) << message << "; expected: " << words;
  EXPECT_NE(message.find(words), std::string::npos) << "'" << message << "' lacks '" << words << "'";
  return message;
}

}  // namespace tulle::test
