// Tests that need a device, and a matrix that every kernel takes.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <tulle/tulle.hpp>

namespace tulle::test {

/// Skips, saying why, where there is no device.
class cuda_test : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << cuda_unavailable_reason();
  }
};

/// A small finite-element matrix with 3 unknowns a node, in host memory.
csr<double> small_matrix();

spmv_options with_kernel(std::string_view name);

/// The second of two calls of `work` must neither take nor give back memory, nor copy, nor wait.
void expect_only_launches(const context& ctx, const std::function<void()>& work);

}  // namespace tulle::test
