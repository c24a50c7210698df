// Sizes on the command line.
#include <gtest/gtest.h>

#include <limits>

#include "common/options.hpp"

namespace tulle::cli {
namespace {

TEST(SizeOption, TakesPowersOf1024) {
  EXPECT_EQ(size_option("--x", "0"), 0u);
  EXPECT_EQ(size_option("--x", "123"), 123u);
  EXPECT_EQ(size_option("--x", "64K"), 65536u);
  EXPECT_EQ(size_option("--x", "3M"), 3u << 20);
  EXPECT_EQ(size_option("--x", "2G"), std::size_t{2} << 30);
  EXPECT_EQ(size_option("--x", "1T"), std::size_t{1} << 40);
  EXPECT_EQ(size_option("--x", "18446744073709551615"), std::numeric_limits<std::size_t>::max());
  for (const char* wrong :
       {"", "K", "1k", "1KB", "1 K", " 1", "+1", "-1", "1.5G", "0x10", "18446744073709551616", "16777216T"}) {
    EXPECT_THROW(size_option("--x", wrong), error) << wrong;
  }
}

}  // namespace
}  // namespace tulle::cli
