#include "bench/record.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tulle::cli::bench {
namespace {

/// 100 us, a million nonzeros, 12 MB of compulsory traffic on a machine that reads 200 GB/s.
spmv_record sample() {
  spmv_record r;
  r.kernel = "csr.merge";
  r.matrix = "cant";
  r.precision = "f64";
  r.cache = "cold";
  r.nnz = 1'000'000;
  r.time.median = 100;
  r.compulsory_bytes = 12e6;
  r.moved_bytes = 15e6;
  r.read_bandwidth = 200e9;
  return r;
}

TEST(Record, CountsFlopsAndBytesByTheMedian) {
  EXPECT_DOUBLE_EQ(sample().gflops(), 20);
  EXPECT_DOUBLE_EQ(sample().gbs(), 120);
  EXPECT_DOUBLE_EQ(sample().moved_gbs(), 150);
  EXPECT_DOUBLE_EQ(sample().percent_of_bandwidth(), 60);
}

TEST(Record, IsNamedAsTheSchemaSays) {
  spmv_record r = sample();
  EXPECT_EQ(r.name(), "spmv/csr.merge/cant/f64/cold");
  r.variant = "block_size=128";
  EXPECT_EQ(r.name(), "spmv/csr.merge/cant/f64/cold/block_size=128");
}

TEST(Record, NamesWhatIsMultiplied) {
  spmv_record r = sample();
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

TEST(BreakEven, CountsApplicationsUntilThePlanIsPaid) {
  EXPECT_EQ(break_even(100, 10, 30), 5);
  EXPECT_EQ(break_even(101, 10, 30), 6);
  EXPECT_EQ(break_even(100, 30, 30), std::nullopt);
  EXPECT_EQ(break_even(100, 40, 30), std::nullopt);
}

}  // namespace
}  // namespace tulle::cli::bench
