// A matrix under test: on the backend, with its vectors, the answer that it must give, and what a plan chooses for it.
#pragma once

#include "common/workload.hpp"
#include "suite.hpp"

namespace tulle::cli::bench {

struct subject : spmv_problem {
  matrix_ref multiplied = {};  // A or A^T as CSR, on the backend
  std::string chosen = {};     // the kernel that a plan takes by itself, and why; or why there is no plan
  std::string reason = {};
  spmv_effort effort = spmv_effort::standard;  // of that plan
  double chosen_plan_us = 0;                   // what that plan took, once
  spmv_reorder reorder = spmv_reorder::never;  // of every plan
  order_choice reorder_method = {};
  std::string base = {};                       // the kernel that effort none takes
};

/// Loads, copies to the backend, and computes the reference.
subject make_subject(const context& ctx, const case_name& which, const run_options& options, const workload& work);

}  // namespace tulle::cli::bench
