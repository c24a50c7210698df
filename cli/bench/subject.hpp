// A matrix under test: on the backend, analysed, with its vectors and the answer that kernels are held to.
#pragma once

#include <tulle/core/buffer.hpp>
#include <tulle/formats/stats.hpp>

#include "common/workload.hpp"
#include "harness.hpp"
#include "kernels/spmv.hpp"
#include "suite.hpp"

namespace tulle::cli::bench {

struct subject {
  std::string name;
  std::string hash;
  workload work;
  matrix_ref a;       // what multiplies, on the backend; 32-bit offsets where they are enough
  matrix_ref source;  // the matrix that was loaded: `a`, unless that is its transpose
  csr_stats stats;
  double analysis_us = 0;  // validation, the transpose where it multiplies, and statistics: part of every plan
  std::string chosen;      // the kernel that a plan takes by itself, and why; or why there is no plan
  std::string reason;
  spmv_effort effort = spmv_effort::standard;  // of that plan
  double chosen_plan_us = 0;                   // what that plan took, once
  buffer<std::byte> x;                         // random, all right-hand sides
  buffer<std::byte> y;
  std::function<double(const buffer<std::byte>& y)> error_ratio;  // largest error over its bound
  std::vector<std::shared_ptr<const void>> storage;               // owns the arrays of `source` and `a`
};

/// Queues one application of an operator that was planned for the subject.
void apply(const context& ctx, subject& s, spmv_operator& op);

/// Whether the kernel multiplies by the transpose of the CSR that it is given: it works on `source`.
bool reads_untransposed(const spmv_kernel& kernel);

/// Loads, copies to the backend, analyses and computes the reference. T is float or double.
template <scalar T>
subject make_subject(const context& ctx, const case_name& which, const run_options& options, const workload& work,
                     const harness& clock);

}  // namespace tulle::cli::bench
