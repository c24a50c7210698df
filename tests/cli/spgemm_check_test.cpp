// The check of a product sees what is wrong with it; the counting memory and the sizes on the command line.
#include "spgemm_check.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "common/options.hpp"
#include "counting_memory.hpp"

namespace tulle::cli {
namespace {

using rows64 = std::vector<std::int64_t>;

/// [1 0 2; 0 3 0] * [0 1; 2 0; 3 4] = [6 9; 6 0]
class SpgemmCheck : public testing::Test {
 protected:
  static csr_view<double, std::int64_t> view(index_t rows, index_t cols, const rows64& rowptr,
                                             const std::vector<index_t>& colind, const std::vector<double>& values) {
    return {rows, cols, static_cast<std::int64_t>(values.size()), rowptr.data(), colind.data(), values.data()};
  }
  [[nodiscard]] spgemm_verdict verdict() const {
    return check_spgemm(context::cpu(1), expected, view(2, 2, c_rowptr, c_colind, c_values));
  }

  rows64 a_rowptr{0, 2, 3}, b_rowptr{0, 1, 2, 4}, c_rowptr{0, 2, 3}, m_rowptr{0, 1, 2};
  std::vector<index_t> a_colind{0, 2, 1}, b_colind{1, 0, 0, 1}, c_colind{0, 1, 0}, m_colind{1, 1};
  std::vector<double> a_values{1, 2, 3}, b_values{1, 2, 3, 4}, c_values{6, 9, 6}, m_values{10, 20};
  spgemm_expectation<double> expected{.a = view(2, 3, a_rowptr, a_colind, a_values),
                                      .b = view(3, 2, b_rowptr, b_colind, b_values)};
};

TEST_F(SpgemmCheck, TakesWhatIsRight) {
  EXPECT_TRUE(verdict().ok());
  EXPECT_EQ(verdict().error_ratio, 0);
  EXPECT_EQ(verdict().checked_rows, 2);
  EXPECT_EQ(verdict().wrong, "");
  expected.alpha = -2;
  c_values = {-12, -18, -12};
  EXPECT_TRUE(verdict().ok());
}

TEST_F(SpgemmCheck, SeesAWrongValue) {
  c_values[1] = std::nextafter(9, 10);
  EXPECT_GT(verdict().error_ratio, 0);
  EXPECT_TRUE(verdict().ok()) << "one rounding is within the bound";
  c_values[1] = 9 + 1e-13;
  EXPECT_FALSE(verdict().ok());
  c_values[1] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(verdict().ok());
}

TEST_F(SpgemmCheck, SeesAWrongPattern) {
  c_colind = {1, 0, 0};
  EXPECT_EQ(verdict().wrong, "row 0: column 0 follows 1");
  c_colind = {0, 2, 0};
  EXPECT_EQ(verdict().wrong, "row 0: column 2 is out of range");
  c_colind = {0, 1, 1};
  EXPECT_EQ(verdict().wrong, "row 1: column 0 is missing");
  c_rowptr = {0, 2, 4};
  c_colind = {0, 1, 0, 1};
  c_values = {6, 9, 6, 0};
  EXPECT_EQ(verdict().wrong, "row 1: column 1 is not in the product");
  EXPECT_FALSE(verdict().ok());
}

TEST_F(SpgemmCheck, KnowsMasksAndWhatIsAdded) {
  expected.mask = view(2, 2, m_rowptr, m_colind, m_values);
  c_rowptr = {0, 1, 1};
  c_colind = {1};
  c_values = {9};
  EXPECT_TRUE(verdict().ok()) << verdict().wrong;
  expected.d = expected.mask;
  expected.beta = 2;
  EXPECT_EQ(verdict().wrong, "row 1: column 1 of D is missing");
  c_rowptr = {0, 1, 2};
  c_colind = {1, 1};
  c_values = {29, 40};
  EXPECT_TRUE(verdict().ok()) << verdict().wrong;
  expected.beta = 0;
  c_values = {9, 0};
  EXPECT_TRUE(verdict().ok()) << verdict().wrong;
}

TEST_F(SpgemmCheck, WantsNansAndInfinitiesWhereTheyBelong) {
  a_values[0] = std::numeric_limits<double>::infinity();  // (0, 0) does not meet it, (0, 1) does
  EXPECT_FALSE(verdict().ok());
  c_values[1] = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(verdict().ok());
  c_values[1] = -c_values[1];
  EXPECT_FALSE(verdict().ok());
}

TEST_F(SpgemmCheck, LooksAtFewerRowsWhereAllWouldTakeTooLong) {
  const spgemm_verdict sampled = check_spgemm(context::cpu(1), expected, view(2, 2, c_rowptr, c_colind, c_values), 2);
  EXPECT_EQ(sampled.checked_rows, 1);
  EXPECT_TRUE(sampled.ok());
  EXPECT_TRUE(has_sorted_rows(context::cpu(2), view(2, 2, c_rowptr, c_colind, c_values)));
  c_colind = {1, 0, 0};
  EXPECT_FALSE(has_sorted_rows(context::cpu(2), view(2, 2, c_rowptr, c_colind, c_values)));
}

TEST(CountingMemory, RemembersThePeak) {
  const context base = context::cpu(1);
  const auto memory = std::make_shared<counting_memory>(base);
  const context ctx = base.with_memory(memory);
  const buffer<char> before(ctx, 1000);
  memory->restart();
  { const buffer<char> first(ctx, 100), second(ctx, 50); }
  const buffer<char> result(ctx, 500);
  { const buffer<char> third(ctx, 70); }
  EXPECT_EQ(memory->peak(), 570u);
  const void* left_out[] = {result.data()};
  EXPECT_EQ(memory->peak(left_out), 150u) << "what is kept does not hide what was there before it";
  memory->restart();
  EXPECT_EQ(memory->peak(), 0u);
}

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
