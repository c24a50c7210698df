// What tulle spmv found out, and its two printers.
#pragma once

#include "common/matrix.hpp"
#include "common/workload.hpp"

namespace tulle::cli {

/// One kernel, timed and checked.
struct spmv_outcome {
  std::string kernel;
  std::string reason;
  std::string_view backend;
  double microseconds = 0;  // median
  double gflops = 0;
  double gbs = 0;  // of compulsory traffic
  workload work = {};
  std::string_view effort = {};
  double plan_us = 0;
  std::size_t workspace_bytes = 0;
  std::optional<double> error_ratio = {};  // with --verify: the largest error over its bound

  [[nodiscard]] bool verified() const { return !error_ratio || *error_ratio <= 1; }
};

/// What a kernel says about the matrix.
struct candidate {
  std::string kernel;
  bool supported = true;
  std::string reason;
};

struct spmv_result {
  matrix_facts matrix;
  std::string_view precision;
  std::string hash;
  bool all = false;                         // every kernel was asked for
  std::vector<spmv_outcome> outcomes = {};  // else one
  std::vector<candidate> skipped = {};
  std::optional<csr_stats> stats = {};  // with --explain, and these
  std::vector<candidate> candidates = {};

  [[nodiscard]] bool verified() const;
};

json to_json(const spmv_result& r);
void print_text(const spmv_result& r);

}  // namespace tulle::cli
