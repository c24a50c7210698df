// The tables that a person reads.
#pragma once

#include "common/page.hpp"
#include "measure.hpp"

namespace tulle::cli::bench {

/// Every record of one subject, fastest first, one table for each state of the cache; the plan's own choice is marked
/// `*`.
void add_subject(page& to, const subject& s, const spmv_results& measured);

/// Kernels down, clocks across.
void add_passes(page& to, std::span<const spmv_record> records);
void add_latencies(page& to, std::span<const spmv_record> records);

/// Every kernel at every value; the best value of each kernel is marked.
void add_sweep(page& to, const std::vector<spmv_record>& records, const std::string& parameter);

/// How the plan's choice compares with the best of our kernels and of the vendor's, over all matrices.
void add_summary(page& to, std::span<const spmv_record> records);

}  // namespace tulle::cli::bench
