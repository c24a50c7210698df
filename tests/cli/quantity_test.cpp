// Numbers for people.
#include "common/quantity.hpp"

#include <gtest/gtest.h>

namespace tulle::cli {
namespace {

TEST(HumanTime, HasThreeDigitsAndAUnitThatFits) {
  EXPECT_EQ(human_time(2508179.6), "2.51 s");
  EXPECT_EQ(human_time(0), "0 us");
  EXPECT_EQ(human_time(0.95), "950 ns");
  EXPECT_EQ(human_time(0.9996), "1.00 us");
  EXPECT_EQ(human_time(31.24), "31.2 us");
  EXPECT_EQ(human_time(999.4), "999 us");
  EXPECT_EQ(human_time(999.6), "1.00 ms");
  EXPECT_EQ(human_time(99.96e3), "100 ms");
  EXPECT_EQ(human_time(119e6), "119 s");
  EXPECT_EQ(human_time(200.4e6), "3 min 20 s");
  EXPECT_EQ(human_time(3 * 3600e6), "3.0 h");
  EXPECT_EQ(human_times(950, 1020), "0.950 - 1.02 ms");
}

TEST(Grouped, PutsACommaBeforeEveryThirdDigit) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(16777216), "16,777,216");
  EXPECT_EQ(grouped(-123456), "-123,456");
  EXPECT_EQ(grouped(-123), "-123");
  EXPECT_EQ(grouped(INT64_MIN), "-9,223,372,036,854,775,808");
}

TEST(Counted, HasThePluralThatBelongsToTheNumber) {
  EXPECT_EQ(counted(0, "row"), "0 rows");
  EXPECT_EQ(counted(1, "row"), "1 row");
  EXPECT_EQ(counted(7840, "nonzero"), "7,840 nonzeros");
  EXPECT_EQ(counted(1, "entry", "entries"), "1 entry");
  EXPECT_EQ(counted(2, "entry", "entries"), "2 entries");
}

TEST(ThreeDigits, RoundsAndGroups) {
  EXPECT_EQ(three_digits(0), "0.00");
  EXPECT_EQ(three_digits(0.1234), "0.123");
  EXPECT_EQ(three_digits(9.996), "10.0");
  EXPECT_EQ(three_digits(99.96), "100");
  EXPECT_EQ(three_digits(1234.4), "1,234");
  EXPECT_EQ(three_digits(1.0 / 0.0), "inf");
}

TEST(HumanBytes, CountsByThousands) {
  EXPECT_EQ(human_bytes(112), "112 B");
  EXPECT_EQ(human_bytes(6050), "6.05 kB");
  EXPECT_EQ(human_bytes(999.6e3), "1.00 MB");
  EXPECT_EQ(human_rate(25.64e9), "25.6 GB/s");
}

}  // namespace
}  // namespace tulle::cli
