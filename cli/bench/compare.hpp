// A run against an earlier one.
#pragma once

#include <tulle/core/status.hpp>
#include <vector>

#include "common/output.hpp"
#include "common/page.hpp"

namespace tulle::cli::bench {

struct comparison {
  std::string name;
  double old_time = 0;  // medians, in the same unit
  double new_time = 0;
  bool regression = false;
  [[nodiscard]] double speedup() const { return old_time / new_time; }
};

struct comparisons {
  std::vector<comparison> matched;
  std::vector<std::string> only_old;
  std::vector<std::string> only_new;
  [[nodiscard]] bool any_regression() const;
};

/// Matches benchmarks by name. A regression is slower by more than `tolerance` per cent and by more than two standard
/// deviations of the difference, sqrt(old^2 + new^2). Both are Google-Benchmark JSON; a missing `stddev` counts as 0.
/// Throws INVALID_FORMAT where `benchmarks` or a time is missing.
comparisons compare(const json& old_run, const json& new_run, double tolerance);

/// Regressions first, then by how much faster or slower.
void add_comparison(page& to, const comparisons& c, double tolerance);

/// Reads a file that --output wrote. Throws FILE_IO, INVALID_FORMAT.
json read_run(const std::string& file);
/// Whether --output wrote a file.
bool is_run(const std::string& file);

}  // namespace tulle::cli::bench
