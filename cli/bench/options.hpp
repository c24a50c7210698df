// What `tulle bench` was asked to do.
#pragma once

#include <string>
#include <vector>

#include "../common.hpp"

namespace tulle::cli::bench {

struct bench_options {
  std::string operation = "spmv";     // spmv, spgemm
  run_options run;                    // backend, threads, device, effort, policy
  workload work;                      // A or A^T, one right-hand side or several
  std::vector<std::string> matrices;  // as `load` takes them
  std::string suite;                  // "", or one of suite_names()
  std::vector<std::string> kernels{"all"};  // none: those of --latency
  std::string precision = "f64";            // f32, f64, both
  int warmup = 3;
  int repeat = 10;
  bool cold = false;  // neither or both: both are measured
  bool warm = false;
  bool diagnose = true;  // the extra measurements behind `bottleneck`
  std::string json;      // file, "-" for stdout, "" for none
  std::string compare;   // an earlier --json file
  double tolerance = 5;  // per cent
  std::string sweep;     // "", or the name of a parameter
  bool errors = false;
  bool latency = false;  // host, submission and graph as well; warm
};

}  // namespace tulle::cli::bench
