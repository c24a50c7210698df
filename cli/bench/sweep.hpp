// The effect of one parameter: every kernel that has it, at each of its usual values.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "measure.hpp"

namespace tulle::cli::bench {

/// block_size, lanes, sigma, block, threads.
std::vector<std::string> sweep_parameters();

/// Appends a record for each (kernel, value) that the kernel takes: its parameters() say `parameter=value`. `threads`
/// runs every CPU kernel on 1, 2, 4, … threads up to those of the context.
void sweep(const bench_run& run, subject& s, std::span<const spmv_kernel* const> kernels, const std::string& parameter,
           results& out);

/// Kernels down, values across, microseconds; the best value of each kernel is marked.
std::string sweep_table(std::span<const record> records, const std::string& parameter);

}  // namespace tulle::cli::bench
