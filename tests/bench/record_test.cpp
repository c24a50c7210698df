// The records of y = A x: names, fields and what counts as right; and the tables that are made of them.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bench/report.hpp"
#include "bench/session.hpp"

namespace tulle::cli::bench {
namespace {

testing::AssertionResult has(const std::string& text, const std::string& part) {
  return (text.find(part) == std::string::npos ? testing::AssertionFailure() : testing::AssertionSuccess()) << text;
}

/// A million nonzeros, 12 MB of compulsory traffic on a machine that reads 200 GB/s.
spmv_record timed(const std::string& kernel, double time, bool chosen = false, bool vendor = false) {
  spmv_record r;
  r.kernel = kernel;
  r.matrix = "cant";
  r.precision = "f64";
  r.cache = "cold";
  r.nnz = 1'000'000;
  r.time.median = time;
  r.compulsory_bytes = 12e6;
  r.moved_bytes = 15e6;
  r.read_bandwidth = 200e9;
  r.chosen = chosen;
  r.vendor = vendor;
  if (chosen) r.reason = kernel + ": because";
  return r;
}

spmv_record sample() { return timed("csr.merge", 100); }

spmv_record with(const std::string& kernel, const latencies& l) {
  spmv_record r = timed(kernel, 5.5);
  r.latency = l;
  return r;
}

/// What write(page) writes where there is room.
template <class Write>
std::string written(const Write& write) {
  page to(200);
  write(to);
  return to.text();
}

std::string table_of(const spmv_results& measured) {
  subject s;
  s.matrix.name = "cant";
  s.a.types = {scalar_type::f64, offset_type::i32};
  return written([&](page& to) { add_subject(to, s, measured); });
}

TEST(Record, CountsFlopsAndBytesByTheMedian) {
  EXPECT_DOUBLE_EQ(sample().gflops(), 20);
  EXPECT_DOUBLE_EQ(sample().gbs(), 120);
  EXPECT_DOUBLE_EQ(sample().moved_gbs(), 150);
  EXPECT_DOUBLE_EQ(sample().percent_of_bandwidth(), 60);
}

TEST(Record, IsNamedByTheSchemaAndByWhatIsMultiplied) {
  spmv_record r = sample();
  EXPECT_EQ(r.name(), "spmv/csr.merge/cant/f64/cold");
  r.variant = "block_size=128";
  EXPECT_EQ(r.name(), "spmv/csr.merge/cant/f64/cold/block_size=128");
  r.variant = "";
  r.work.transpose = true;
  EXPECT_EQ(r.name(), "spmv/csr.merge/cant/f64/cold/transposed");
  r.work = {false, 8, "column"};
  EXPECT_EQ(r.name(), "spmm/csr.merge/cant/f64/cold/rhs=8,column");
  EXPECT_DOUBLE_EQ(r.gflops(), 160);
}

TEST(Record, HasTheFieldsThatReadersRelyOn) {
  const json j = to_json(sample());
  for (const char* field :
       {"name", "run_type", "iterations", "real_time", "cpu_time", "time_unit", "mean", "stddev", "min", "gflops",
        "gbs", "percent_of_bandwidth", "plan_us", "break_even", "bottleneck", "error_ratio"}) {
    EXPECT_TRUE(j.contains(field)) << field;
  }
  EXPECT_EQ(j["time_unit"], "us");
  EXPECT_EQ(j["real_time"], 100.0);
  EXPECT_TRUE(j["break_even"].is_null());
  EXPECT_FALSE(j.contains("host_us"));
}

TEST(Record, HasNullForSharesAndCausesThatWereNotMeasured) {
  spmv_record r = sample();
  r.bottleneck = {"latency", "because"};
  EXPECT_EQ(to_json(r)["percent_of_bandwidth"], 60.0);
  EXPECT_EQ(to_json(r)["bottleneck"], "latency");
  r.read_bandwidth = 0;
  r.bottleneck = {"", "not measured"};
  EXPECT_TRUE(to_json(r)["percent_of_bandwidth"].is_null());
  EXPECT_TRUE(to_json(r)["bottleneck"].is_null());
  EXPECT_TRUE(has(table_of({{r}, {}}), "-           not measured"));
}

TEST(Record, StaysValidJsonWhenTheErrorIsNotFinite) {
  spmv_record r = sample();
  r.error_ratio = std::numeric_limits<double>::infinity();
  EXPECT_EQ(to_json(r)["error_ratio"], "inf");
  EXPECT_FALSE(r.is_right());
  r.error_ratio = std::nan("");
  EXPECT_EQ(to_json(r)["error_ratio"], "nan");
  EXPECT_FALSE(r.is_right());
}

TEST(Record, HasNumbersForTheLatenciesMeasuredAndNullsForTheRest) {
  const json j = to_json(with("cusparse.csr1", {9.25, 2.5, 4.75, {}, {}, "cannot be captured"}));
  EXPECT_EQ(j["host_us"], 9.25);
  EXPECT_EQ(j["submit_us"], 2.5);
  EXPECT_EQ(j["queued_us"], 4.75);
  EXPECT_TRUE(j["graph_us"].is_null());
  EXPECT_TRUE(j["graph_host_us"].is_null());
  EXPECT_EQ(j["latency_missing"], "cannot be captured");
}

TEST(BreakEven, CountsApplicationsUntilThePlanIsPaid) {
  EXPECT_EQ(break_even(100, 10, 30), 5);
  EXPECT_EQ(break_even(101, 10, 30), 6);
  EXPECT_EQ(break_even(100, 30, 30), std::nullopt);
  EXPECT_EQ(break_even(100, 40, 30), std::nullopt);
}

TEST(LatencyTable, HasAColumnForEveryClock) {
  spmv_record r = with("picked", {9.25, 2.5, 4.75, 3.125, 8.0, ""});
  r.chosen = true;
  EXPECT_TRUE(has(written([&](page& to) {
                    add_latencies(to, {&r, 1});
                  }),
                  "* picked            5.50 us  9.25 us  2.50 us    4.75 us   3.12 us     8.00 us\n"));
}

TEST(LatencyTable, SaysOnceWhatIsMissing) {
  const latencies none{9.25, 2.5, 4.75, {}, {}, "cannot be captured"};
  const std::vector records{with("cusparse.csr1", none), with("cusparse.csr2", none)};
  const std::string text = written([&](page& to) { add_latencies(to, records); });
  EXPECT_TRUE(has(text, "4.75 us         -           -\n"));
  EXPECT_TRUE(has(text, "cannot be captured"));
  EXPECT_EQ(text.find("cannot be captured"), text.rfind("cannot be captured")) << text;
}

TEST(SubjectTable, SortsByTimeAndMarksTheChoice) {
  const std::string text = table_of({{timed("slow", 30), timed("picked", 20, true), timed("fast", 10)}, {}});
  EXPECT_LT(text.find("fast "), text.find("* picked "));
  EXPECT_LT(text.find("* picked "), text.find("slow "));
  EXPECT_TRUE(has(text, "picked: because"));
  EXPECT_TRUE(has(text, "2.00 times as long as the best of the 3 measured (fast)"));
}

TEST(SubjectTable, NamesTheBestOfOursWhereAllWereMeasured) {
  spmv_results all{{timed("picked", 20, true), timed("fast", 10), timed("cusparse.csr1", 30, false, true)}, {}};
  EXPECT_TRUE(has(table_of(all), "2.00 times as long as the best of the 2 measured (fast)"));
  for (spmv_record& r : all.records) r.all_measured = true;
  EXPECT_TRUE(has(table_of(all), "2.00 times as long as the best of ours (fast)"));
  EXPECT_TRUE(has(written([&](page& to) { add_summary(to, all.records); }), "the choice / best of ours: worst 2.00"));
  const std::string alone = table_of({{timed("picked", 20, true)}, {}});
  EXPECT_EQ(alone.find("times as long"), std::string::npos) << "beside itself";
}

TEST(SubjectTable, ShowsThePlansTimeOnceAndTheSpreadOfTheMedianInBothTables) {
  spmv_record cold = timed("csr.rows", 40), warm = timed("csr.rows", 20);
  warm.cache = "warm";
  cold.plan_us = warm.plan_us = 1234;
  cold.time = {10, 41, 9, 40, 35, 38, 42, {}};
  warm.time = {10, 25, 9, 20, 15, 19, 21, {}};
  const std::string text = table_of({{cold, warm}, {}});
  EXPECT_EQ(text.find("1.23 ms"), text.rfind("1.23 ms")) << text;
  EXPECT_TRUE(has(text, "40.0 us  10%"));
  EXPECT_TRUE(has(text, "20.0 us  10%"));
}

TEST(SubjectTable, MarksWhatWasDisturbed) {
  spmv_record r = timed("csr.rows", 40);
  EXPECT_EQ(table_of({{r}, {}}).find('~'), std::string::npos);
  r.disturbed = true;
  r.time.others = 1.26;
  const std::string text = table_of({{r}, {}});
  EXPECT_TRUE(has(text, "~40.0 us"));
  EXPECT_TRUE(has(text, "other processes kept up to 1.3 cores busy"));
}

TEST(SubjectTable, ComparesWithTheVendor) {
  EXPECT_TRUE(has(table_of({{timed("picked", 20, true), timed("cusparse.csr1", 30, false, true)}, {}}),
                  "1.50 times as fast as the vendor's best (cusparse.csr1)"));
}

TEST(SubjectTable, SaysWhyAKernelDidNotRun) {
  EXPECT_TRUE(
      has(table_of({{}, {{"ell", "cant", "f64", "would pad 900 times", false}}}), "not run: would pad 900 times"));
}

TEST(ChoiceSummary, IgnoresKernelsWithWrongAnswers) {
  std::vector<spmv_record> records{timed("picked", 20, true), timed("fast", 1)};
  records[1].error_ratio = 2;
  EXPECT_TRUE(
      has(written([&](page& to) { add_summary(to, records); }), "the choice / best of the 2 measured: worst 1.00"));
}

TEST(Failures, NamesWrongAnswersAndErrorsButNotRefusals) {
  spmv_results all{{timed("right", 1), timed("wrong", 1)},
                   {{"ell", "cant", "f64", "too wide", false}, {"sell", "cant", "f64", "launch failed", true}}};
  all.records[1].error_ratio = 3;
  const std::string text = written([&](page& to) { add_failures(to, all); });
  EXPECT_TRUE(has(text, "spmv/wrong/cant/f64/cold"));
  EXPECT_TRUE(has(text, "launch failed"));
  EXPECT_FALSE(has(text, "right"));
  EXPECT_FALSE(has(text, "too wide"));
}

}  // namespace
}  // namespace tulle::cli::bench
