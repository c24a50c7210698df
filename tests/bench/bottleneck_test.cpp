#include "bench/bottleneck.hpp"

#include <gtest/gtest.h>

namespace tulle::cli::bench {
namespace {

TEST(NameBottleneck, SaysTheFirstThatHolds) {
  // 1000 us at 1 GB/s, so that a million bytes are all of the bandwidth.
  const struct {
    double share, launch;
    std::optional<double> gather, balance;
    const char* name;
    const char* why;
    bool needs_probes;
  } cases[]{
      {0.76, 5, {}, {}, "bandwidth", "moves 76%", false},
      {0.74, 5, {}, {}, "", "moves 74% of the bandwidth; all columns 0 not measured", true},
      {0.74, 5, 900, {}, "latency", "even rows not measured", true},
      {1.5, 5, {}, {}, "bandwidth", "cache", false},
      {0.3, 101, 100, {}, "latency", "launches", false},  // ten launches; the probe does not matter
      {0.9, 101, {}, {}, "bandwidth", "moves 90%", false},
      {0.3, 5, 500, 600, "gather", "2.00x with all columns 0", true},
      {0.3, 5, 600, 500, "imbalance", "2.00x with even rows", true},
      {0.3, 5, 900, 950, "latency", "1.11x with all columns 0", true},
  };
  for (const auto& c : cases) {
    const evidence e{1000, c.share * 1e6, 1e9, c.launch, c.gather, c.balance};
    const verdict v = name_bottleneck(e);
    EXPECT_EQ(v.name, c.name) << v.why;
    EXPECT_NE(v.why.find(c.why), std::string::npos) << v.why;
    EXPECT_EQ(needs_probes(e), c.needs_probes) << v.why;
  }
}

TEST(NameBottleneck, ClaimsNothingOfABandwidthThatWasNotMeasured) {
  evidence e{1000, 3e5, 0, 5, {}, {}};
  EXPECT_EQ(name_bottleneck(e).name, "");
  EXPECT_EQ(name_bottleneck(e).why, "not measured");
  e.gather_time = 900;
  EXPECT_EQ(name_bottleneck(e).name, "");
  EXPECT_TRUE(name_bottleneck(e).why.starts_with("bandwidth not measured; 1.11x with all columns 0"));
  e.gather_time = 500;
  EXPECT_EQ(name_bottleneck(e).name, "gather");
  e.launch = 101;
  EXPECT_EQ(name_bottleneck(e).name, "latency") << "ten launches";
}

}  // namespace
}  // namespace tulle::cli::bench
