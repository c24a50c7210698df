// Which status a CUDA error becomes; needs no device.
#include "cuda/runtime/check.hpp"

#include "support/errors.hpp"

namespace tulle::test {
namespace {

status raised(cudaError_t code, status otherwise = status::internal) {
  return status_of([&] { cuda::check(code, "a call", otherwise); });
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
  expect_error(status::internal, "cudaMemcpyAsync", [] { cuda::check(cudaErrorInvalidValue, "cudaMemcpyAsync"); });
  expect_error(status::internal, "cudaErrorInvalidValue", [] { cuda::check(cudaErrorInvalidValue, "a call"); });
}

}  // namespace
}  // namespace tulle::test
