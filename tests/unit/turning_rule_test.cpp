// How many column-major vectors a plan has room to turn into rows where it was not told of them.
#include "kernels/turning_rule.hpp"

#include <gtest/gtest.h>

namespace tulle::test {
namespace {

/// `sectors`: of x that an entry reads among others near it. Rows are alike.
csr_stats square(index_t rows, index_t mean, double sectors) {
  csr_stats s;
  s.rows = rows, s.cols = rows, s.nnz = std::int64_t{rows} * mean, s.mean = mean, s.max = mean, s.skew = 1;
  s.reads_f64.tile_sectors = s.reads_f32.tile_sectors = sectors;
  return s;
}

turning_rule rule_for(const csr_stats& s, std::size_t value_bytes) {
  return {s, value_bytes, turning_rule::uneven_in_packed};
}
index_t turned(const csr_stats& s, std::size_t value_bytes, std::size_t device_bytes = std::size_t{8} << 30) {
  const turning_rule rule = rule_for(s, value_bytes);
  return untold_room(s, value_bytes, device_bytes).turned(s.cols, [&](index_t columns) { return rule.pays(columns); });
}

TEST(TurningRule, TurnsALineWhereTheMatrixIsTwiceAsLarge) {
  EXPECT_EQ(turned(square(1'000'000, 32, 1), 4), 32);
  EXPECT_EQ(turned(square(1'000'000, 31, 1), 4), 8);
  EXPECT_EQ(turned(square(1'000'000, 22, 1), 8), 16);
  EXPECT_EQ(turned(square(1'000'000, 21, 1), 8), 8);
}
TEST(TurningRule, TurnsALineOfSmallMatrices) { EXPECT_EQ(turned(square(60'000, 8, 1), 4), 32); }
TEST(TurningRule, TakesMoreOfALargeDevice) {
  const auto on_large = [](const csr_stats& s) { return turned(s, 4, std::size_t{140} << 30); };
  EXPECT_EQ(on_large(square(550'000, 8, 1)), 32);
  EXPECT_EQ(on_large(square(600'000, 8, 1)), 8);
  EXPECT_EQ(on_large(square(2'000'000, 3, 1)), 8);
  EXPECT_EQ(on_large(square(2'500'000, 3, 1)), 0);
}
TEST(TurningRule, TakesNoMoreThanTheMatrix) {
  EXPECT_EQ(turned(square(1'000'000, 4, 1), 4), 8);
  EXPECT_EQ(turned(square(1'000'000, 3, 1), 4), 0);
  EXPECT_EQ(turned(square(1'000'000, 5, 1), 8), 0);
}
TEST(TurningRule, LeavesVectorsWhereNeighboursReadOneSector) {
  EXPECT_EQ(turned(square(1'000'000, 7, 0.1), 4), 0);
  EXPECT_EQ(turned(square(1'000'000, 7, 1), 4), 8);
}
TEST(TurningRule, TurnsLinesWhereRowsAreLong) {
  EXPECT_FALSE(rule_for(square(100'000, 8, 0.05), 8).pays(32));
  EXPECT_TRUE(rule_for(square(100'000, 40, 0.05), 8).pays(32));
  EXPECT_FALSE(rule_for(square(100'000, 40, 0.05), 8).pays(8));
}
TEST(TurningRule, TurnsSoonerWhereRowsDiffer) {
  csr_stats s = square(100'000, 7, 0.1);
  EXPECT_FALSE(rule_for(s, 4).pays(8));
  s.max = 700, s.skew = 100;
  EXPECT_TRUE(rule_for(s, 4).pays(8));
  EXPECT_TRUE(rule_for(s, 4).pays(3));
  EXPECT_FALSE(rule_for(s, 4).pays(2));
  s.reads_f32.tile_sectors = 0.05;
  EXPECT_FALSE(rule_for(s, 4).pays(8));
}
TEST(TurningRule, AsksHowManyEntriesThereAreWhereNoneWereSampled) {
  EXPECT_TRUE(rule_for(square(10'000, 4, 0), 4).pays(128));
  EXPECT_FALSE(rule_for(square(10'000, 2, 0), 4).pays(512));
}
TEST(TurningRule, LeavesVectorsOfFewEntries) {
  EXPECT_EQ(turned(square(5'000, 18, 1), 4), 0);
  EXPECT_EQ(turned(square(5'000, 20, 1), 4), 32);
  EXPECT_EQ(turned(square(0, 0, 0), 4), 0);
}

}  // namespace
}  // namespace tulle::test
