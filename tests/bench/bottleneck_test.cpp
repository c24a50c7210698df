#include "bench/bottleneck.hpp"

#include <gtest/gtest.h>

namespace tulle::cli::bench {
namespace {

/// 1000 us, 1 GB/s, so that a million bytes are all of the bandwidth; a launch takes 5 us.
evidence with_share(double share) { return {1000, share * 1e6, 1e9, 5, {}, {}}; }

TEST(NameBottleneck, SaysBandwidthFromThreeQuartersOn) {
  EXPECT_EQ(name_bottleneck(with_share(0.76)).name, "bandwidth");
  EXPECT_NE(name_bottleneck(with_share(0.74)).name, "bandwidth");
}

TEST(NameBottleneck, SaysThatMoreThanTheBandwidthComesOutOfCache) {
  EXPECT_NE(name_bottleneck(with_share(1.5)).why.find("cache"), std::string::npos);
}

TEST(NameBottleneck, SaysLatencyBelowTenLaunches) {
  evidence e = with_share(0.3);
  e.launch = 101;
  e.gather_time = 100;  // no matter
  EXPECT_EQ(name_bottleneck(e).name, "latency");
}

TEST(NameBottleneck, PutsBandwidthBeforeLatency) {
  evidence e = with_share(0.9);
  e.launch = 101;
  EXPECT_EQ(name_bottleneck(e).name, "bandwidth");
}

TEST(NameBottleneck, SaysGatherWhereColumnsMatterMost) {
  evidence e = with_share(0.3);
  e.gather_time = 500;
  e.balance_time = 600;
  EXPECT_EQ(name_bottleneck(e).name, "gather");
  EXPECT_NE(name_bottleneck(e).why.find("2.00x with all columns 0"), std::string::npos);
}

TEST(NameBottleneck, SaysImbalanceWhereRowsMatterMost) {
  evidence e = with_share(0.3);
  e.gather_time = 600;
  e.balance_time = 500;
  EXPECT_EQ(name_bottleneck(e).name, "imbalance");
}

TEST(NameBottleneck, SaysLatencyWhereNothingElseHelps) {
  evidence e = with_share(0.3);
  e.gather_time = 900;
  e.balance_time = 950;
  EXPECT_EQ(name_bottleneck(e).name, "latency");
}

TEST(NeedsProbes, OnlyWhereBandwidthAndLaunchesDoNotExplain) {
  EXPECT_TRUE(needs_probes(with_share(0.3)));
  EXPECT_FALSE(needs_probes(with_share(0.8)));
  evidence e = with_share(0.3);
  e.launch = 101;
  EXPECT_FALSE(needs_probes(e));
}

}  // namespace
}  // namespace tulle::cli::bench
