#include "bench/compare.hpp"

#include <gtest/gtest.h>

namespace tulle::cli::bench {
namespace {

json benchmark(const std::string& name, double time, double stddev) {
  return {{"name", name}, {"real_time", time}, {"stddev", stddev}};
}
json run_of(std::initializer_list<json> benchmarks) { return {{"benchmarks", json(benchmarks)}}; }

TEST(Compare, FindsARegressionBeyondToleranceAndNoise) {
  const comparisons c = compare(run_of({benchmark("a", 100, 1)}), run_of({benchmark("a", 110, 1)}), 5);
  ASSERT_EQ(c.matched.size(), 1u);
  EXPECT_TRUE(c.any_regression());
  EXPECT_DOUBLE_EQ(c.matched[0].speedup(), 100.0 / 110.0);
}

TEST(Compare, LetsPassWhatIsWithinTheTolerance) {
  EXPECT_FALSE(compare(run_of({benchmark("a", 100, 0)}), run_of({benchmark("a", 104, 0)}), 5).any_regression());
}

TEST(Compare, LetsPassWhatIsWithinTheNoise) {
  // 2 sqrt(4^2 + 4^2) = 11.3
  EXPECT_FALSE(compare(run_of({benchmark("a", 100, 4)}), run_of({benchmark("a", 111, 4)}), 5).any_regression());
  EXPECT_TRUE(compare(run_of({benchmark("a", 100, 4)}), run_of({benchmark("a", 112, 4)}), 5).any_regression());
}

TEST(Compare, IsNoRegressionToBeFaster) {
  EXPECT_FALSE(compare(run_of({benchmark("a", 100, 0)}), run_of({benchmark("a", 50, 0)}), 5).any_regression());
}

TEST(Compare, ListsNamesThatOnlyOneRunHas) {
  const comparisons c = compare(run_of({benchmark("a", 1, 0), benchmark("b", 1, 0)}),
                                run_of({benchmark("b", 1, 0), benchmark("c", 1, 0)}), 5);
  EXPECT_EQ(c.only_old, std::vector<std::string>{"a"});
  EXPECT_EQ(c.only_new, std::vector<std::string>{"c"});
  const std::string table = comparison_table(c, 5);
  EXPECT_NE(table.find("only in the old run"), std::string::npos);
  EXPECT_NE(table.find("only in the new run"), std::string::npos);
}

TEST(Compare, ShowsRegressionsFirst) {
  const comparisons c = compare(run_of({benchmark("a", 100, 0), benchmark("b", 100, 0)}),
                                run_of({benchmark("a", 90, 0), benchmark("b", 120, 0)}), 5);
  const std::string table = comparison_table(c, 5);
  EXPECT_LT(table.find("\nb "), table.find("\na "));
  EXPECT_NE(table.find("REGRESSION"), std::string::npos);
}

TEST(Compare, RefusesWhatIsNoRecord) {
  for (const json& bad : {json::object(), json{{"benchmarks", {json{{"name", "a"}}}}}, json::array()}) {
    try {
      compare(bad, run_of({}), 5);
      ADD_FAILURE() << bad;
    } catch (const error& e) {
      EXPECT_EQ(e.code(), status::invalid_format);
    }
  }
}

}  // namespace
}  // namespace tulle::cli::bench
