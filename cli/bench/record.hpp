// One measurement as Google Benchmark's JSON (its compare.py reads it).
#pragma once

#include <iterator>
#include <new>

#include "bottleneck.hpp"
#include "common/output.hpp"
#include "common/workload.hpp"
#include "load.hpp"
#include "statistics.hpp"

namespace tulle::cli::bench {

/// What records of all operations have in common: one kernel on one matrix.
struct measurement {
  std::string kernel;
  std::string matrix;  // short name
  std::string matrix_hash;
  std::string precision;  // f32, f64
  index_t rows = 0;
  index_t cols = 0;
  std::int64_t nnz = 0;
  bool vendor = false;     // a vendor's routine
  bool chosen = false;     // what the plan chooses by itself
  sample_summary time;     // microseconds
  bool disturbed = false;  // other processes wanted the same cores meanwhile
  std::size_t workspace_bytes = 0;
  double error_ratio = 0;  // the largest error over its bound
};

/// One application in other ways than between two events; medians, in microseconds.
struct latencies {
  static constexpr int applications = 64;  // of what follows where it says "many"

  double host = 0;                   // from the call until the device is done, seen from the host
  std::optional<double> submit;      // the call alone
  std::optional<double> queued;      // one of many calls in a row until the device is done, seen from the host
  std::optional<double> graph;       // one of a graph of many, between two events
  std::optional<double> graph_host;  // a graph of one, from its launch until the device is done, seen from the host
  std::string missing;               // why some are
};

/// The fused passes beside `apply`, in the same state of the cache; medians, in microseconds.
struct fused_passes {
  std::optional<double> dots;    // w is x where A is square
  std::optional<double> jacobi;  // of a square A
  double dots_bytes = 0;         // read and written beyond what apply does
  double jacobi_bytes = 0;
};

/// y = A x in one state of the cache.
struct spmv_record : measurement {
  std::string cache;       // cold, warm
  std::string variant;     // "block_size=128" in a sweep, else empty
  std::string parameters;  // in force
  workload work;
  narrowing mixed = {};                // of --precision mixed
  stored_values stored = {};           // the values of the matrix, by type
  std::string reason;                  // why it was chosen; empty for the others
  std::optional<latencies> latency;    // with --latency
  std::optional<fused_passes> passes;  // with --passes
  double compulsory_bytes = 0;
  double moved_bytes = 0;
  std::size_t matrix_bytes = 0;     // of those, the matrix's
  double read_bandwidth = 0;        // of the machine, bytes a second
  std::string effort = "standard";  // of the plan that plan_us is for
  double plan_us = 0;  // from the CSR on the backend to a ready operator, with all that the effort asks for
  std::optional<double> break_even;  // applications; nothing when it never pays
  verdict bottleneck;
  bool all_measured = false;  // so were all production kernels that take the matrix

  /// "spmv/csr.merge/cant/f64/cold"; then "transposed" or, of spmm, "rhs=8,row"; then the variant.
  [[nodiscard]] std::string name() const;
  /// False where the answer was outside its bound.
  [[nodiscard]] bool is_right() const { return error_ratio <= 1; }
  /// Whether that is an error of ours.
  [[nodiscard]] bool is_failure() const { return !is_right(); }
  /// What is wrong with the answer.
  [[nodiscard]] std::string complaint() const;
  [[nodiscard]] double gflops() const { return 2 * static_cast<double>(nnz) * work.rhs / time.median * 1e-3; }
  [[nodiscard]] double gbs() const { return compulsory_bytes / time.median * 1e-3; }
  [[nodiscard]] double moved_gbs() const { return moved_bytes / time.median * 1e-3; }
  [[nodiscard]] double percent_of_bandwidth() const { return read_bandwidth > 0 ? gbs() * 1e11 / read_bandwidth : 0; }
};

/// Says of every record whether other processes were in the way; of what was too short to tell, by `otherwise`.
template <class Record>
void mark_disturbed(std::vector<Record>& records, std::optional<double> otherwise, int threads) {
  for (Record& r : records) {
    if (!r.time.others) r.time.others = otherwise;
    r.disturbed = is_overloaded(r.time.others, threads, cores());
  }
}

/// A kernel that was not measured, and why.
struct omission {
  std::string kernel;
  std::string matrix;
  std::string precision;
  std::string reason;
  bool failed = false;  // an error, as opposed to a kernel that cannot take the matrix
};

/// Runs `work`, or says in a copy of `blank` why a kernel declined the matrix or failed on it. `options`: whether the
/// kernel may decline the options that it is given.
template <class Work>
void try_kernel(omission blank, bool options, std::vector<omission>& omitted, const Work& work) {
  try {
    return work();
  } catch (const error& e) {
    const status code = e.code();
    blank.reason = e.what();
    blank.failed = code != status::out_of_memory && code != status::device_out_of_memory &&
                   code != status::unsupported && code != status::overflow &&
                   !(options && code == status::invalid_argument);
  } catch (const std::bad_alloc&) {
    blank.reason = "out of memory";
  }
  omitted.push_back(std::move(blank));
}

template <class Record>
struct results {
  std::vector<Record> records;
  std::vector<omission> omitted;

  void append(results&& other) {
    std::move(other.records.begin(), other.records.end(), std::back_inserter(records));
    std::move(other.omitted.begin(), other.omitted.end(), std::back_inserter(omitted));
  }
};
using spmv_results = results<spmv_record>;

/// What a plan for the problem is and moves; not its times.
spmv_record describe(const spmv_problem& problem, const any_spmv_plan& plan);

/// What Google Benchmark knows of a measurement, its name and its times, and what all operations have in common.
json common_json(const std::string& name, const measurement& m);

json to_json(const spmv_record& r);
json to_json(const omission& o);
/// Applications after which a plan that costs `plan_us` and runs in `time` has caught up with one that costs nothing
/// and runs in `base_time`; nothing when it never does.
std::optional<double> break_even(double plan_us, double time, double base_time);

}  // namespace tulle::cli::bench
