// One suite on every backend: the CPU with one thread and with three, and a GPU, skipped with the reason where there is
// none.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <tulle/tulle.hpp>
#include <vector>

namespace tulle::test {

struct backend_case {
  std::string name;
  std::function<context()> make;
  friend void PrintTo(const backend_case& c, std::ostream* out) { *out << c.name; }
};

class backends_test : public ::testing::TestWithParam<backend_case> {
 protected:
  void SetUp() override {
    if (GetParam().name == "cuda" && cuda_device_count() == 0) GTEST_SKIP() << cuda_unavailable_reason();
    ctx_.emplace(GetParam().make());
    ops_.emplace(*ctx_);
  }

  /// A vector of the backend with these elements.
  template <class T>
  buffer<T> on(const std::vector<T>& from) {
    return to_buffer(*ctx_, from);
  }
  template <class T>
  std::vector<T> host(const buffer<T>& from) {
    return to_vector(*ctx_, from);
  }
  template <class T>
  buffer<T> random(std::uint64_t seed, std::size_t n) {
    buffer<T> x(*ctx_, n);
    ops_->random(seed, x);
    return x;
  }

  std::optional<context> ctx_;
  std::optional<vector_ops> ops_;
};

inline auto every_backend() {
  return ::testing::Values(backend_case{"cpu_1", [] { return context::cpu(1); }},
                           backend_case{"cpu_3", [] { return context::cpu(3); }},
                           backend_case{"cuda", [] { return context::cuda(); }});
}
inline std::string backend_name(const ::testing::TestParamInfo<backend_case>& info) { return info.param.name; }

/// The error that `f` throws, as "STATUS: message"; empty where it throws none.
template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const error& e) {
    return std::string(name(e.code())) + ": " + e.what();
  }
  return {};
}

}  // namespace tulle::test
