// The records of products: names, limits, and what counts as right.
#include "bench/spgemm_record.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace tulle::cli::bench {
namespace {

/// What the records of one matrix have in common.
spgemm_record cant() {
  spgemm_record r;
  r.matrix = "cant";
  r.precision = "f64";
  r.rows = r.cols = 100;
  r.nnz = r.nnz_b = 1000;
  r.copy_bandwidth = 1e9;
  return r;
}

spgemm_record whole() {
  spgemm_record r = cant();
  r.kernel = "gustavson";
  r.phase = "whole";
  r.products = 20'000;
  r.nnz_c = 4000;
  r.time.median = 1000;
  r.sorted = true;
  return r;
}

TEST(SpgemmRecord, CountsProductsAndBytes) {
  spgemm_record r = whole();
  EXPECT_EQ(r.name(), "spgemm/gustavson/cant/f64/whole");
  EXPECT_DOUBLE_EQ(r.gflops(), 0.04);
  EXPECT_DOUBLE_EQ(r.compression(), 5);
  EXPECT_DOUBLE_EQ(r.compulsory_bytes(), 12.0 * 5000 + 1200);
  EXPECT_DOUBLE_EQ(r.gathered_bytes(), 240'000);
  EXPECT_DOUBLE_EQ(r.percent_of_bandwidth(), 6.12);
  EXPECT_FALSE(r.percent_of_gather()) << "the bandwidth of a CPU's caches is not known";
  EXPECT_TRUE(to_json(r)["percent_of_gather"].is_null());
  r.cache_bandwidth = 2.4e9;
  EXPECT_DOUBLE_EQ(*r.percent_of_gather(), 10);
  r.precision = "f32";
  r.transposed_b = true;
  EXPECT_DOUBLE_EQ(r.compulsory_bytes(), 8.0 * 6000 + 1200);
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
  EXPECT_EQ(to_json(r)["error_ratio"], "inf");
}

TEST(SpgemmRecord, TheTableSaysWhatWasNotRun) {
  const spgemm_results measured{{whole()},
                                {{"cusparse.spgemm1", "cant", "f64", "insufficient resources", false},
                                 {"kernel0", "cant", "f64", "a kernel failed", true}}};
  page to(100);
  add_products(to, cant(), measured);
  const std::string& text = to.text();
  EXPECT_NE(text.find("cant: A A, C 100 x 100"), std::string::npos) << text;
  EXPECT_NE(text.find("not run: insufficient resources"), std::string::npos) << text;
  EXPECT_NE(text.find("FAILED: a kernel failed"), std::string::npos) << text;
}

}  // namespace
}  // namespace tulle::cli::bench
