// Every status has the exit code that its kind of failure promises.
#include <gtest/gtest.h>

#include "common.hpp"

namespace tulle::cli {
namespace {

struct expectation {
  status code;
  int exit;
};

class ExitCodes : public testing::TestWithParam<expectation> {};

TEST_P(ExitCodes, AreByKindOfFailure) { EXPECT_EQ(exit_code_of(GetParam().code), GetParam().exit); }

INSTANTIATE_TEST_SUITE_P(
    EveryStatus, ExitCodes,
    testing::Values(expectation{status::success, 0}, expectation{status::null_pointer, 2},
                    expectation{status::invalid_argument, 2}, expectation{status::invalid_dimensions, 3},
                    expectation{status::invalid_structure, 3}, expectation{status::invalid_format, 3},
                    expectation{status::file_io, 3}, expectation{status::unsupported, 3},
                    expectation{status::not_finite, 3}, expectation{status::overflow, 3},
                    expectation{status::not_converged, 4}, expectation{status::breakdown, 4},
                    expectation{status::indefinite, 4}, expectation{status::out_of_memory, 5},
                    expectation{status::device_out_of_memory, 5}, expectation{status::cuda_memcpy, 5},
                    expectation{status::kernel_launch, 5}, expectation{status::internal, 5}),
    [](const auto& instance) { return std::string(name(instance.param.code)); });

}  // namespace
}  // namespace tulle::cli
