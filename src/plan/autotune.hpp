// Measures kernels on a matrix.
#pragma once

#include <chrono>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/spmv.hpp"

namespace tulle {

double microseconds_since(std::chrono::steady_clock::time_point begin);

/// Median microseconds of an application of two operators that were applied by turns, with x = 0.
struct comparison {
  double first = 0;
  double second = 0;
  bool second_is_faster = false;  // by more than chance
};
comparison compare(const linear_operator& a, const linear_operator& b);

/// What every candidate is planned with, and for what.
struct tuning_subject {
  const matrix_ref& a;
  const csr_stats& stats;
  const spmv_options& options;
  bool many = false;  // right-hand sides, as many as the options tell and as they lie; else one vector
};

struct tuning {
  const spmv_kernel* kernel = nullptr;    // the fastest
  std::unique_ptr<spmv_operator> faster;  // its operator; null where the one given stays the fastest
  double microseconds = 0;                // of one application among some in a row
  int measured = 1;
  int skipped = 0;             // that suit the matrix but would have passed the budget
  bool lacked_memory = false;  // for kernels that suit the matrix
};

/// The fastest of `first` and those of the candidates that take the matrix, planned and measured one after the other.
/// One is not begun when what was spent and what its planning may take (estimated) would pass `budget` applications of
/// the fastest one so far, each by itself. Kernels for which there is no memory are left out. Where two are as fast as
/// one another the first stays.
tuning fastest_kernel(const context& ctx, const tuning_subject& subject,
                      const std::vector<const spmv_kernel*>& candidates,
                      std::pair<const spmv_kernel*, spmv_operator*> first, double budget);

/// "the fastest of 3 kernels measured: 12.3 us", and how many were left out.
std::string reason_of(const tuning& result, double budget);

/// All that may be chosen.
std::vector<const spmv_kernel*> production_kernels(backend_kind backend);

/// A hash of the statistics, as 16 hex digits: matrices of the same hash are taken for alike.
std::string statistics_hash(const csr_stats& s);

}  // namespace tulle
