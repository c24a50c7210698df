// Which status a CUDA error becomes; needs no device.
#include "cuda/runtime/check.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tulle::test {
namespace {

status raised(cudaError_t code, status otherwise = status::internal) {
  try {
    cuda::check(code, "a call", otherwise);
    return status::success;
  } catch (const error& e) {
    return e.code();
  }
}

TEST(cuda_check, success_is_silent) { EXPECT_EQ(raised(cudaSuccess), status::success); }

TEST(cuda_check, statuses_are_by_cause) {
  EXPECT_EQ(raised(cudaErrorMemoryAllocation), status::device_out_of_memory);
  EXPECT_EQ(raised(cudaErrorMemoryAllocation, status::cuda_memcpy), status::device_out_of_memory);
  EXPECT_EQ(raised(cudaErrorNoDevice), status::unsupported);
  EXPECT_EQ(raised(cudaErrorInsufficientDriver), status::unsupported);
  EXPECT_EQ(raised(cudaErrorNoKernelImageForDevice), status::unsupported);
  EXPECT_EQ(raised(cudaErrorStreamCaptureUnsupported), status::unsupported);
  EXPECT_EQ(raised(cudaErrorInvalidDevice), status::invalid_argument);
  EXPECT_EQ(raised(cudaErrorLaunchOutOfResources), status::kernel_launch);
  EXPECT_EQ(raised(cudaErrorIllegalAddress, status::cuda_memcpy), status::kernel_launch);
}

TEST(cuda_check, other_errors_take_the_status_of_the_call) {
  EXPECT_EQ(raised(cudaErrorInvalidValue), status::internal);
  EXPECT_EQ(raised(cudaErrorInvalidValue, status::cuda_memcpy), status::cuda_memcpy);
}

TEST(cuda_check, the_message_names_the_call_and_the_error) {
  try {
    cuda::check(cudaErrorInvalidValue, "cudaMemcpyAsync");
    FAIL() << "nothing was thrown";
  } catch (const error& e) {
    EXPECT_NE(std::string(e.what()).find("cudaMemcpyAsync"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("cudaErrorInvalidValue"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace tulle::test
