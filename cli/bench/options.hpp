// What `tulle bench` was asked to do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/options.hpp"
#include "common/workload.hpp"

namespace tulle::cli::bench {

struct bench_options {
  std::string operation = "spmv";     // spmv, spgemm, solve
  run_options run;                    // its precision is f32, f64, both or mixed
  workload work;                      // A or A^T, one right-hand side or several
  std::vector<std::string> matrices;  // as `load` takes them
  std::string suite;                  // "", or one of suite_names()
  std::vector<std::string> kernels{"all"};
  int warmup = 3;
  int repeat = 10;
  /// That of the memory is measured: shares are of it.
  bool bandwidth = true;
  bool cold = false;  // neither or both: both are measured
  bool warm = false;
  bool diagnose = true;  // the extra measurements behind `bottleneck`
  std::string output;    // file of the records, "-" for stdout, "" for none
  std::string compare;   // such a file of an earlier run
  std::string plot;      // a picture of the records; "" for none
  std::string plot_kind = "roofline";        // or bars
  std::string from;                          // a file of records to plot instead of measuring
  std::vector<std::string> plot_precisions;  // of it; empty: all
  double allow = 5;      // per cent slower
  std::string sweep;     // "", or the name of a parameter
  bool errors = false;
  bool precision_study = false;
  bool passes = false;   // apply_dots and jacobi as well
  bool latency = false;  // host, submission and graph as well; warm
  std::vector<std::string> preconditioners{"jacobi"};  // of solve
  double rtol = 1e-8;                                  // of solve

  [[nodiscard]] bool json_on_stdout() const { return run.json || output == "-"; }
};

/// Measure, print and write what the options ask for, and return the exit code: 1 for a run slower than the one that
/// --compare names, 4 for a wrong answer or a kernel that failed, that of the cause where a matrix could not be had.
int run_spmv_bench(const bench_options& options);
/// The ways to store values side by side: f64, f32, what loses nothing, promises, the forms of the origin, and what
/// --precision mixed asks for besides. Without a matrix those of the suite meshes, on a CPU meshes-small.
int run_precision_study(bench_options options);
/// C = A A, or A A^T where A is not square, by every kernel asked for: the whole call and the numeric phase. A vendor's
/// kernel that fails is reported, and is no failure.
int run_spgemm_bench(const bench_options& options);
/// A x = b by every solver asked for: an iteration, and a whole solve.
int run_solve_bench(const bench_options& options);

/// In the order of preconditioner_kind.
inline constexpr std::string_view preconditioner_names[] = {"none", "jacobi", "block_jacobi", "chebyshev"};

}  // namespace tulle::cli::bench
