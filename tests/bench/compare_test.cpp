#include "bench/compare.hpp"

#include "support/errors.hpp"

namespace tulle::cli::bench {
namespace {

/// `half`: from the median to either quartile; below 0: the record has none.
json benchmark(const std::string& name, double time, double half) {
  json b{{"name", name}, {"real_time", time}, {"stddev", 1e3}};
  if (half >= 0) b.update({{"lower_quartile", time - half}, {"upper_quartile", time + half}});
  return b;
}
json run_of(std::initializer_list<json> benchmarks) { return {{"benchmarks", json(benchmarks)}}; }

std::string table_of(const comparisons& c) {
  page to(100);
  add_comparison(to, c, 5);
  return to.text();
}

TEST(Compare, FindsARegressionBeyondToleranceAndQuartiles) {
  const struct {
    double after, half_before, half_after;
    bool regression;
  } cases[]{{110, 1, 1, true},   {104, 0, 0, false},                        // within the tolerance of 5%
            {110, 6, 6, false},                                             // 104 is not above 106
            {110, 6, 3, true},                                              // 107 is
            {110, 5, 5, false},                                             // 105 and 105
            {110, -1, 20, true},                                            // the medians alone tell
            {110, 20, -1, true}, {104, -1, -1, false}, {50, 0, 0, false}};  // faster
  for (const auto& [after, half_before, half_after, regression] : cases) {
    const comparisons c =
        compare(run_of({benchmark("a", 100, half_before)}), run_of({benchmark("a", after, half_after)}), 5);
    ASSERT_EQ(c.matched.size(), 1u);
    EXPECT_EQ(c.any_regression(), regression) << after << ", " << half_before << ", " << half_after;
    EXPECT_DOUBLE_EQ(c.matched[0].speedup(), 100 / after);
  }
}

TEST(Compare, ListsWhatOnlyOneRunHasWithItsTime) {
  const comparisons c = compare(run_of({benchmark("a", 7, 0), benchmark("b", 1, 0)}),
                                run_of({benchmark("b", 1, 0), benchmark("c", 9, 0)}), 5);
  ASSERT_EQ(c.only_old.size(), 1u);
  ASSERT_EQ(c.only_new.size(), 1u);
  EXPECT_EQ(c.only_old[0].name, "a");
  EXPECT_EQ(c.only_new[0].name, "c");
  const std::string table = table_of(c);
  EXPECT_NE(table.find("7.00 us        -        -  only in the old run"), std::string::npos) << table;
  EXPECT_NE(table.find("-  9.00 us        -  only in the new run"), std::string::npos) << table;
}

TEST(Compare, TellsWhatMakesRunsHardToCompare) {
  const json before{{"device", "A"}, {"backend", "cpu"}, {"threads", 4}, {"disturbed", true}};
  const auto with = [&](const char* key, const json& value) {
    json after = before;
    after[key] = value;
    return changed_context({{"context", before}}, {{"context", after}});
  };
  EXPECT_EQ(changed_context({{"context", before}}, {{"context", before}}), "");
  EXPECT_EQ(with("threads", 2), "threads: 4, now 2");
  EXPECT_EQ(with("device", "B"), "device: A, now B");
  EXPECT_EQ(with("backend", "cuda"), "backend: cpu, now cuda");
  EXPECT_EQ(with("disturbed", false), "other processes were in the way of the old run alone");
  EXPECT_EQ(changed_context(json::object(), {{"context", before}}),
            "other processes were in the way of the new run alone");
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
  for (const json& bad : {json::object(), json{{"benchmarks", {json{{"name", "a"}}}}}, json::array(),
                          run_of({json{{"name", "a"}, {"real_time", 1}, {"lower_quartile", "x"}}})}) {
    EXPECT_EQ(test::status_of([&] { compare(bad, run_of({}), 5); }), status::invalid_format) << bad;
  }
}

}  // namespace
}  // namespace tulle::cli::bench
