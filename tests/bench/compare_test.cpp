#include "bench/compare.hpp"

#include "support/errors.hpp"

namespace tulle::cli::bench {
namespace {

json benchmark(const std::string& name, double time, double stddev) {
  return {{"name", name}, {"real_time", time}, {"stddev", stddev}};
}
json run_of(std::initializer_list<json> benchmarks) { return {{"benchmarks", json(benchmarks)}}; }

std::string table_of(const comparisons& c) {
  page to(100);
  add_comparison(to, c, 5);
  return to.text();
}

TEST(Compare, FindsARegressionBeyondToleranceAndNoise) {
  const struct {
    double after, stddev;
    bool regression;
  } cases[]{{110, 1, true},
            {104, 0, false},  // within the tolerance of 5%
            {111, 4, false},  // within the noise: 2 sqrt(4^2 + 4^2) = 11.3
            {112, 4, true},
            {50, 0, false}};  // faster
  for (const auto& [after, stddev, regression] : cases) {
    const comparisons c = compare(run_of({benchmark("a", 100, stddev)}), run_of({benchmark("a", after, stddev)}), 5);
    ASSERT_EQ(c.matched.size(), 1u);
    EXPECT_EQ(c.any_regression(), regression) << after << " +- " << stddev;
    EXPECT_DOUBLE_EQ(c.matched[0].speedup(), 100 / after);
  }
}

TEST(Compare, ListsNamesThatOnlyOneRunHas) {
  const comparisons c = compare(run_of({benchmark("a", 1, 0), benchmark("b", 1, 0)}),
                                run_of({benchmark("b", 1, 0), benchmark("c", 1, 0)}), 5);
  EXPECT_EQ(c.only_old, std::vector<std::string>{"a"});
  EXPECT_EQ(c.only_new, std::vector<std::string>{"c"});
  const std::string table = table_of(c);
  EXPECT_NE(table.find("only in the old run"), std::string::npos);
  EXPECT_NE(table.find("only in the new run"), std::string::npos);
}

TEST(Compare, KnowsTheEarlierNameOfGustavson) {
  const comparisons c = compare(run_of({benchmark("spgemm/default/cant/f64/whole", 1, 0)}),
                                run_of({benchmark("spgemm/gustavson/cant/f64/whole", 1, 0)}), 5);
  ASSERT_EQ(c.matched.size(), 1u);
  EXPECT_EQ(c.matched[0].name, "spgemm/gustavson/cant/f64/whole");
}

TEST(Compare, ShowsRegressionsFirst) {
  const std::string table = table_of(compare(run_of({benchmark("a", 100, 0), benchmark("b", 100, 0)}),
                                             run_of({benchmark("a", 90, 0), benchmark("b", 120, 0)}), 5));
  EXPECT_LT(table.find("\n  b "), table.find("\n  a "));
  EXPECT_NE(table.find("REGRESSION"), std::string::npos);
}

TEST(Compare, RefusesWhatIsNoRecord) {
  for (const json& bad : {json::object(), json{{"benchmarks", {json{{"name", "a"}}}}}, json::array()}) {
    EXPECT_EQ(test::status_of([&] { compare(bad, run_of({}), 5); }), status::invalid_format) << bad;
  }
}

}  // namespace
}  // namespace tulle::cli::bench
