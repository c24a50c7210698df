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

/// A benchmark that only one of the runs has, and its median.
struct lone {
  std::string name;
  double time = 0;
};

struct comparisons {
  std::vector<comparison> matched;
  std::vector<lone> only_old;
  std::vector<lone> only_new;
  [[nodiscard]] bool any_regression() const;
};

/// Matches benchmarks by name. A regression is slower by more than `tolerance` per cent, and its lower quartile is
/// above the old upper one; where one of the two has no quartiles the medians alone tell. Both are Google-Benchmark
/// JSON. Throws INVALID_FORMAT where `benchmarks` or a time is missing, or a quartile is no number.
comparisons compare(const json& old_run, const json& new_run, double tolerance);

/// Regressions first, then by how much faster or slower.
void add_comparison(page& to, const comparisons& c, double tolerance);

/// What makes two runs hard to compare, "" where nothing does: "threads: 4, now 2; other processes were in the way of
/// the old run alone". Looks at device, backend, threads and disturbed of their contexts.
std::string changed_context(const json& old_run, const json& new_run);

/// Reads a file that --output wrote. Throws FILE_IO, INVALID_FORMAT.
json read_run(const std::string& file);
/// Whether --output wrote a file.
bool is_run(const std::string& file);

}  // namespace tulle::cli::bench
