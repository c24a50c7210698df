// The records of products: names, limits, and what counts as right.
#include <gtest/gtest.h>

#include <limits>

#include "bench/spgemm_record.hpp"

namespace tulle::cli::bench {
namespace {

spgemm_subject cant() {
  spgemm_subject s;
  s.matrix = "cant";
  s.precision = "f64";
  s.rows = s.cols = 100;
  s.nnz_a = s.nnz_b = 1000;
  s.copy_bandwidth = 1e9;
  return s;
}

spgemm_record whole() {
  spgemm_record r;
  r.kernel = "gustavson";
  r.phase = "whole";
  r.products = 20'000;
  r.nnz_c = 4000;
  r.time.median = 1000;
  r.sorted = true;
  return r;
}

TEST(SpgemmRecord, CountsProductsAndBytes) {
  spgemm_subject s = cant();
  const spgemm_record r = whole();
  EXPECT_EQ(name_of(s, r), "spgemm/gustavson/cant/f64/whole");
  EXPECT_DOUBLE_EQ(r.gflops(), 0.04);
  EXPECT_DOUBLE_EQ(r.compression(), 5);
  EXPECT_DOUBLE_EQ(compulsory_bytes(s, r), 12.0 * 5000 + 1200);
  EXPECT_DOUBLE_EQ(gathered_bytes(s, r), 240'000);
  EXPECT_DOUBLE_EQ(percent_of_bandwidth(s, r), 6.12);
  EXPECT_FALSE(percent_of_gather(s, r)) << "nobody knows what a CPU's caches give";
  EXPECT_TRUE(to_json(s, r)["percent_of_gather"].is_null());
  s.cache_bandwidth = 2.4e9;
  EXPECT_DOUBLE_EQ(*percent_of_gather(s, r), 10);
  s.precision = "f32";
  s.transposed_b = true;
  EXPECT_DOUBLE_EQ(compulsory_bytes(s, r), 8.0 * 6000 + 1200);
}

TEST(SpgemmRecord, IsRightOnlyWhereAllIs) {
  spgemm_record r = whole();
  EXPECT_TRUE(r.is_right());
  r.sorted = false;
  EXPECT_FALSE(r.is_right());
  r = whole();
  r.wrong = "row 3: column 7 is missing";
  EXPECT_FALSE(r.is_right());
  r = whole();
  r.error_ratio = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(r.is_right());
  EXPECT_EQ(to_json(cant(), r)["error_ratio"], "inf");
}

TEST(SpgemmRecord, TheTableSaysWhatWasNotRun) {
  const spgemm_record records[] = {whole()};
  const omission omitted[] = {{"cusparse.spgemm1", "cant", "f64", "insufficient resources", false},
                              {"kernel0", "cant", "f64", "a kernel failed", true}};
  const std::string text = spgemm_table(cant(), records, omitted);
  EXPECT_NE(text.find("cant: A A, C 100 x 100"), std::string::npos) << text;
  EXPECT_NE(text.find("not run: insufficient resources"), std::string::npos) << text;
  EXPECT_NE(text.find("FAILED: a kernel failed"), std::string::npos) << text;
}

}  // namespace
}  // namespace tulle::cli::bench
