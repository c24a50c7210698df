// Every status has the exit code that its kind of failure promises.
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "common/command.hpp"

namespace tulle::cli {
namespace {

TEST(ExitCodes, AreByKindOfFailure) {
  const std::map<int, std::vector<status>> promised{
      {0, {status::success}},
      {2, {status::null_pointer, status::invalid_argument}},
      {3,
       {status::invalid_dimensions, status::invalid_structure, status::invalid_format, status::file_io,
        status::unsupported, status::not_finite, status::overflow}},
      {4, {status::not_converged, status::breakdown, status::indefinite}},
      {5,
       {status::out_of_memory, status::device_out_of_memory, status::cuda_memcpy, status::kernel_launch,
        status::internal}}};
  std::size_t seen = 0;
  for (const auto& [exit, statuses] : promised) {
    for (const status s : statuses) EXPECT_EQ(exit_code_of(s), exit) << name(s);
    seen += statuses.size();
  }
  EXPECT_EQ(seen, static_cast<std::size_t>(status::internal) + 1) << "a status without a promise";
}

}  // namespace
}  // namespace tulle::cli
