// The effect of one parameter: every kernel that has it, at each of its usual values.
#pragma once

#include "measure.hpp"

namespace tulle::cli::bench {

/// block_size, lanes, sigma, block, threads.
std::vector<std::string> sweep_parameters();

/// Throws INVALID_ARGUMENT where no kernel of the backend has the parameter, and says what it is for.
void check_sweep(const std::string& parameter, backend_kind backend);

/// Appends a record for each (kernel, value) that the kernel takes: its parameters() say `parameter=value`. `threads`
/// runs every CPU kernel on 1, 2, 4, … threads up to those of the context.
void sweep(const bench_run& run, subject& s, std::span<const kernel_info> kernels, const std::string& parameter,
           spmv_results& out);

}  // namespace tulle::cli::bench
