// One measurement, and the machine it was made on, as Google Benchmark's JSON (its compare.py reads it).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "../common.hpp"
#include "bottleneck.hpp"
#include "statistics.hpp"

namespace tulle::cli::bench {

/// One application in other ways than between two events; medians, in microseconds.
struct latencies {
  static constexpr int applications = 64;  // of what follows where it says "many"

  double host = 0;                   // from the call until the device is done, seen from the host
  std::optional<double> submit;      // the call alone
  std::optional<double> queued;      // many calls in a row until the device is done, seen from the host, over their number
  std::optional<double> graph;       // a graph of many, between two events, over their number
  std::optional<double> graph_host;  // a graph of one, from its launch until the device is done, seen from the host
  std::string missing;               // why some are
};

/// One kernel on one matrix in one state of the cache.
struct record {
  std::string kernel;
  std::string matrix;  // short name
  std::string matrix_hash;
  std::string precision;   // f32, f64
  std::string cache;       // cold, warm
  std::string variant;     // "block_size=128" in a sweep, else empty
  std::string parameters;  // in force
  workload work;
  index_t rows = 0;
  index_t cols = 0;
  std::int64_t nnz = 0;
  bool vendor = false;  // a vendor's routine
  bool chosen = false;  // what the plan chooses by itself
  std::string reason;   // why it was chosen; empty for the others
  sample_summary time;  // microseconds
  std::optional<latencies> latency;  // with --latency
  double compulsory_bytes = 0;
  double moved_bytes = 0;
  double read_bandwidth = 0;         // of the machine, bytes a second
  std::string effort = "default";    // of the plan that plan_us is for
  double plan_us = 0;  // from the CSR on the backend to a ready operator, with all that the effort asks for
  std::optional<double> break_even;  // applications; nothing when it never pays
  std::size_t workspace_bytes = 0;
  double error_ratio = 0;
  verdict bottleneck;

  /// "spmv/csr.merge/cant/f64/cold"; then "transposed" or, of spmm, "rhs=8,row"; then the variant.
  [[nodiscard]] std::string name() const;
  /// False where the answer was outside its bound.
  [[nodiscard]] bool is_right() const { return error_ratio <= 1; }
  [[nodiscard]] double gflops() const { return 2 * static_cast<double>(nnz) * work.rhs / time.median * 1e-3; }
  [[nodiscard]] double gbs() const { return compulsory_bytes / time.median * 1e-3; }
  [[nodiscard]] double moved_gbs() const { return moved_bytes / time.median * 1e-3; }
  [[nodiscard]] double percent_of_bandwidth() const { return read_bandwidth > 0 ? gbs() * 1e11 / read_bandwidth : 0; }
};

/// A kernel that was not measured, and why.
struct omission {
  std::string kernel;
  std::string matrix;
  std::string precision;
  std::string reason;
  bool failed = false;  // an error, as opposed to a kernel that cannot take the matrix
};

/// What Google Benchmark knows of a measurement: its name and its times.
json timed(const std::string& name, const sample_summary& microseconds);

json to_json(const record& r);
json to_json(const omission& o);

/// Applications after which a plan that costs `plan_us` and runs in `time` has caught up with one that costs nothing
/// and runs in `base_time`; nothing when it never does.
std::optional<double> break_even(double plan_us, double time, double base_time);

}  // namespace tulle::cli::bench
