#include "bench/report.hpp"

#include <gtest/gtest.h>

namespace tulle::cli::bench {
namespace {

spmv_record timed(const std::string& kernel, const latencies& l) {
  spmv_record r;
  r.kernel = kernel;
  r.time.median = 5.5;
  r.latency = l;
  return r;
}

TEST(LatencyTable, HasAColumnForEveryClock) {
  spmv_record r = timed("picked", {9.25, 2.5, 4.75, 3.125, 8.0, ""});
  r.chosen = true;
  const std::string text = latency_table({&r, 1});
  EXPECT_NE(text.find("* picked                    5.50      9.25      2.50      4.75      3.12      8.00\n"),
            std::string::npos)
      << text;
}

TEST(LatencyTable, SaysOnceWhatIsMissing) {
  const latencies none{9.25, 2.5, 4.75, {}, {}, "cannot be captured"};
  const std::vector<spmv_record> records{timed("cusparse.csr1", none), timed("cusparse.csr2", none)};
  const std::string text = latency_table(records);
  EXPECT_NE(text.find("4.75         -         -\n"), std::string::npos) << text;
  EXPECT_NE(text.find("cannot be captured"), std::string::npos) << text;
  EXPECT_EQ(text.find("cannot be captured"), text.rfind("cannot be captured")) << text;
}

TEST(LatencyRecord, HasNumbersForWhatWasMeasuredAndNullsForTheRest) {
  const json j = to_json(timed("cusparse.csr1", {9.25, 2.5, 4.75, {}, {}, "cannot be captured"}));
  EXPECT_EQ(j["host_us"], 9.25);
  EXPECT_EQ(j["submit_us"], 2.5);
  EXPECT_EQ(j["queued_us"], 4.75);
  EXPECT_TRUE(j["graph_us"].is_null());
  EXPECT_TRUE(j["graph_host_us"].is_null());
  EXPECT_EQ(j["latency_missing"], "cannot be captured");
  const spmv_record without;
  EXPECT_FALSE(to_json(without).contains("host_us"));
}

}  // namespace
}  // namespace tulle::cli::bench
