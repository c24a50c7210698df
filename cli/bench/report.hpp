// The tables that a person reads.
#pragma once

#include "measure.hpp"

namespace tulle::cli::bench {

/// Every record of one subject, fastest first, one table for each state of the cache; the plan's own choice is marked
/// `*`.
std::string subject_table(const subject& s, const spmv_results& measured);

/// Kernels down, clocks across, microseconds.
std::string passes_table(std::span<const spmv_record> records);
std::string latency_table(std::span<const spmv_record> records);

/// Kernels down, values across, microseconds; the best value of each kernel is marked.
std::string sweep_table(std::span<const spmv_record> records, const std::string& parameter);

/// How the plan's choice compares with the best of our kernels and of the vendor's, over all matrices.
std::string choice_summary(std::span<const spmv_record> records);

}  // namespace tulle::cli::bench
