#include "bench/report.hpp"

#include <gtest/gtest.h>

#include "bench/session.hpp"

namespace tulle::cli::bench {
namespace {

spmv_record timed(const std::string& kernel, double time, bool chosen = false, bool vendor = false) {
  spmv_record r;
  r.kernel = kernel;
  r.matrix = "cant";
  r.precision = "f64";
  r.cache = "cold";
  r.nnz = 1000;
  r.time.median = time;
  r.chosen = chosen;
  r.vendor = vendor;
  if (chosen) r.reason = kernel + ": because";
  return r;
}

subject named() {
  subject s;
  s.name = "cant";
  s.a.types = {scalar_type::f64, offset_type::i32};
  return s;
}

TEST(SubjectTable, SortsByTimeAndMarksTheChoice) {
  const spmv_results measured{{timed("slow", 30), timed("picked", 20, true), timed("fast", 10)}, {}};
  const std::string text = subject_table(named(), measured);
  EXPECT_LT(text.find("fast "), text.find("* picked "));
  EXPECT_LT(text.find("* picked "), text.find("slow "));
  EXPECT_NE(text.find("picked: because"), std::string::npos);
  EXPECT_NE(text.find("2.00 times as long as the best of ours (fast)"), std::string::npos);
}

TEST(SubjectTable, ComparesWithTheVendor) {
  const spmv_results measured{{timed("picked", 20, true), timed("cusparse.csr1", 30, false, true)}, {}};
  EXPECT_NE(subject_table(named(), measured).find("1.50 times as fast as the vendor's best (cusparse.csr1)"),
            std::string::npos);
}

TEST(SubjectTable, SaysWhyAKernelDidNotRun) {
  const spmv_results measured{{}, {{"ell", "cant", "f64", "would pad 900 times", false}}};
  EXPECT_NE(subject_table(named(), measured).find("not run: would pad 900 times"), std::string::npos);
}

TEST(ChoiceSummary, IgnoresKernelsWithWrongAnswers) {
  std::vector<spmv_record> records{timed("picked", 20, true), timed("fast", 1)};
  records[1].error_ratio = 2;
  EXPECT_NE(choice_summary(records).find("worst 1.00"), std::string::npos);
}

TEST(Failures, NamesWrongAnswersAndErrorsButNotRefusals) {
  spmv_results all;
  all.records = {timed("right", 1), timed("wrong", 1)};
  all.records[1].error_ratio = 3;
  all.omitted = {{"ell", "cant", "f64", "too wide", false}, {"sell", "cant", "f64", "launch failed", true}};
  const std::string text = failures(all);
  EXPECT_NE(text.find("spmv/wrong/cant/f64/cold"), std::string::npos);
  EXPECT_NE(text.find("launch failed"), std::string::npos);
  EXPECT_EQ(text.find("right"), std::string::npos);
  EXPECT_EQ(text.find("too wide"), std::string::npos);
}

}  // namespace
}  // namespace tulle::cli::bench
