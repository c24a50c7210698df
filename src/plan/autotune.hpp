// Measures kernels on a matrix.
#pragma once

#include <chrono>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "kernels/spmv.hpp"

namespace tulle {

double microseconds_since(std::chrono::steady_clock::time_point begin);

/// The median of some applications, with x = 0.
double microseconds_per_application(const linear_operator& a);

/// What every candidate is planned with.
struct tuning_subject {
  const matrix_ref& a;
  const csr_stats& stats;
  const spmv_options& options;
};

struct tuning {
  const spmv_kernel* kernel = nullptr;    // the fastest
  std::unique_ptr<spmv_operator> faster;  // its operator; null where the one given stays the fastest
  double microseconds = 0;                // of one application
  int measured = 0;
  int skipped = 0;       // that suit the matrix but would have passed the budget
  bool complete = true;  // every kernel that suits the matrix was measured
};

/// The fastest of `first` and all kernels that take the matrix, planned and measured one after the other. A candidate
/// is not begun when what was spent and what its planning may take (estimated) would pass `budget` applications of the
/// fastest one so far. Kernels for which there is no memory are left out.
tuning fastest_kernel(const context& ctx, const tuning_subject& subject,
                      std::pair<const spmv_kernel*, spmv_operator*> first, double budget);

/// A hash of the statistics, as 16 hex digits: matrices of the same hash are taken for alike.
std::string statistics_hash(const csr_stats& s);

}  // namespace tulle
