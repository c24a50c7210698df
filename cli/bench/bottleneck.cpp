#include "bottleneck.hpp"

#include <fmt/format.h>

#include "common/quantity.hpp"

namespace tulle::cli::bench {
namespace {

constexpr double bandwidth_share = 0.75;  // of the measured read bandwidth
constexpr double launches_a_run = 10;     // times the launch latency
constexpr double probe_speedup = 1.25;    // of a probe over the kernel

double share_of_bandwidth(const evidence& e) {
  return e.read_bandwidth > 0 && e.time > 0 ? e.moved_bytes / (e.time * 1e-6) / e.read_bandwidth : 0;
}

bool short_run(const evidence& e) { return e.time < launches_a_run * e.launch; }

double speedup(const std::optional<double>& probe, double time) { return probe && *probe > 0 ? time / *probe : 1; }

std::string describe_probe(const std::optional<double>& probe, double time, std::string_view change) {
  if (!probe) return fmt::format("{} not measured", change);
  return fmt::format("{:.2f}x with {}", speedup(probe, time), change);
}

}  // namespace

bool needs_probes(const evidence& e) { return share_of_bandwidth(e) < bandwidth_share && !short_run(e); }

verdict name_bottleneck(const evidence& e) {
  const double share = share_of_bandwidth(e);
  const bool has_share = e.read_bandwidth > 0;
  const std::string moved =
      has_share ? fmt::format("moves {:.0f}% of the bandwidth", 100 * share) : "bandwidth not measured";
  if (share > 1.05) return {"bandwidth", moved + ": partly out of cache, or measured while the machine was busy"};
  if (share >= bandwidth_share) return {"bandwidth", moved};
  if (short_run(e)) {
    return {"latency", fmt::format("{} is {:.1f} launches of {}", human_time(e.time), e.time / e.launch, human_time(e.launch))};
  }
  if (!has_share && !e.gather_time && !e.balance_time) return {"", "not measured"};
  const double gather = speedup(e.gather_time, e.time);
  const double balance = speedup(e.balance_time, e.time);
  const std::string probes = fmt::format("{}; {}; {}", moved, describe_probe(e.gather_time, e.time, "all columns 0"),
                                         describe_probe(e.balance_time, e.time, "even rows"));
  if (gather >= probe_speedup && gather >= balance) return {"gather", probes};
  if (balance >= probe_speedup) return {"imbalance", probes};
  const bool is_known = has_share && (e.gather_time || e.balance_time);
  return {is_known ? "latency" : "", probes};
}

}  // namespace tulle::cli::bench
