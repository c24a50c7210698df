// Exit codes by kind of failure, and sizes among the options.
#include "common/command.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <vector>

#include "common/options.hpp"

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

TEST(SizeOption, TakesPowersOf1024) {
  const std::map<const char*, std::size_t> right{{"0", 0},
                                                 {"123", 123},
                                                 {"64K", 65536},
                                                 {"3M", 3u << 20},
                                                 {"2G", std::size_t{2} << 30},
                                                 {"1T", std::size_t{1} << 40},
                                                 {"18446744073709551615", std::numeric_limits<std::size_t>::max()}};
  for (const auto& [text, bytes] : right) EXPECT_EQ(size_option("--x", text), bytes) << text;
  for (const char* wrong :
       {"", "K", "1k", "1KB", "1 K", " 1", "+1", "-1", "1.5G", "0x10", "18446744073709551616", "16777216T"}) {
    EXPECT_THROW(size_option("--x", wrong), error) << wrong;
  }
}

}  // namespace
}  // namespace tulle::cli
