// Tests on a GPU: skipped, saying why, where there is none.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <tulle/core/context.hpp>

namespace tulle::test {

class CudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << cuda_unavailable_reason();
    gpu.emplace(context::cuda());
  }

  std::optional<context> gpu;
};

}  // namespace tulle::test
