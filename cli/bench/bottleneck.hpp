// Names what holds a kernel back, by a fixed rule over measured numbers.
#pragma once

#include <optional>
#include <string>

namespace tulle::cli::bench {

/// What was measured of one kernel on one matrix: its fastest run and those of the probes, in microseconds; bandwidth
/// in bytes a second.
struct evidence {
  double time = 0;
  double moved_bytes = 0;              // matrix as stored + x + y
  double read_bandwidth = 0;           // of this machine, 0 = unknown
  double launch = 0;                   // from launch to the end of an empty kernel or parallel region, 0 = unknown
  std::optional<double> gather_time;   // the same kernel with every column index 0
  std::optional<double> balance_time;  // the same kernel with the nonzeros spread evenly over the rows
};

struct verdict {
  std::string name;  // bandwidth, latency, gather or imbalance; "" where what would tell was not measured
  std::string why;   // the numbers that say so
};

/// The first of these that holds:
///   bandwidth   the bytes moved reach 75% of the measured read bandwidth;
///   latency     a run is shorter than 10 launches;
///   gather      all column indices 0 make it at least 1.25 times faster, and by more than even rows do;
///   imbalance   even rows make it at least 1.25 times faster;
///   latency     none of these: loads and instructions wait for each other.
/// That none holds is known only where the bandwidth and one of the probes were measured.
verdict name_bottleneck(const evidence& e);

/// Whether the first two tests leave it open, so that the probes are worth their time.
bool needs_probes(const evidence& e);

}  // namespace tulle::cli::bench
