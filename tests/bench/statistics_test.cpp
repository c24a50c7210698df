#include "bench/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace tulle::cli::bench {
namespace {

TEST(Summarise, GivesTheStatisticsOfAnOddCount) {
  const sample_summary s = summarise(std::vector<double>{5, 1, 3, 2, 4});
  EXPECT_EQ(s.count, 5);
  EXPECT_DOUBLE_EQ(s.mean, 3);
  EXPECT_DOUBLE_EQ(s.median, 3);
  EXPECT_DOUBLE_EQ(s.min, 1);
  EXPECT_DOUBLE_EQ(s.stddev, std::sqrt(2.5));  // 10 / (5 - 1)
}

TEST(Summarise, GivesQuartilesAndTheirDistance) {
  const sample_summary s = summarise(std::vector<double>{5, 1, 3, 2, 4});
  EXPECT_DOUBLE_EQ(s.lower, 2);
  EXPECT_DOUBLE_EQ(s.upper, 4);
  EXPECT_DOUBLE_EQ(*s.spread(), 2.0 / 3);
  const sample_summary even = summarise(std::vector<double>{1, 2, 3, 4});
  EXPECT_DOUBLE_EQ(even.lower, 1.75);
  EXPECT_DOUBLE_EQ(even.upper, 3.25);
  EXPECT_DOUBLE_EQ(*even.over(4).spread(), *even.spread());
  EXPECT_DOUBLE_EQ(even.over(4).median, even.median / 4);
}

TEST(Summarise, TakesFewSamples) {
  EXPECT_DOUBLE_EQ(summarise(std::vector<double>{10, 1, 2, 4}).median, 3) << "the middle of an even count";
  const sample_summary one = summarise(std::vector<double>{7});
  EXPECT_DOUBLE_EQ(one.median, 7);
  EXPECT_DOUBLE_EQ(one.stddev, 0);
  EXPECT_FALSE(one.spread());
  EXPECT_EQ(summarise({}).count, 0);
}

TEST(GeometricMean, MultipliesAndTakesTheRoot) {
  EXPECT_NEAR(geometric_mean(std::vector<double>{1, 2, 4}), 2, 1e-15);
  EXPECT_DOUBLE_EQ(geometric_mean({}), 1);
}

}  // namespace
}  // namespace tulle::cli::bench
