// The benchmarks of a record that a picture shows.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "common/output.hpp"
#include "options.hpp"

namespace tulle::cli::bench {

/// One benchmark, as pictures need it.
struct entry {
  std::string operation, kernel, matrix, precision;
  std::string rest;   // "cold", "whole", "cold, rhs=8,row": what else tells it from others
  std::string cache;  // empty where that is nothing to tell
  bool chosen = false, vendor = false;
  double median = 0, soon = 0, late = 0;  // microseconds: the spread is the quartiles where the record has them
  bool quartiles = false;                 // else a standard deviation, but no sooner than the fastest run
  double gbs = 0, gflops = 0;             // gflops: 0 where the record has none
  double bytes_each = 0;                  // bytes for each nonzero or, of C = A B, for each product

  /// Which of `roles` the kernel has.
  [[nodiscard]] std::size_t role() const { return chosen ? 0 : vendor ? 2 : 1; }
};

inline constexpr std::array roles{"chosen by the plan", "other kernels", "the vendor's"};

/// A number of a JSON object, or that of another key; 0 where there is none.
double number_of(const json& object, const char* key, const char* otherwise = nullptr);
/// A text of a JSON object; "" where there is none.
std::string text_of(const json& object, const char* key);
/// A flag of a JSON object; false where there is none.
bool flag_of(const json& object, const char* key);

/// Those with bytes per second that the options name: matrices, kernels, precisions (of --from alone; a run has
/// measured nothing else) and states of the cache: cold ones where there are any and --warm is not asked for.
std::vector<entry> entries_of(const json& document, const bench_options& options);

}  // namespace tulle::cli::bench
