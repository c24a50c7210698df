// One call of `tulle bench`.
#pragma once

#include "options.hpp"

namespace tulle::cli::bench {

/// Measures, prints and writes what the options ask for, and returns the exit code: 1 for a run slower than the one
/// that
/// --compare names, 4 for a wrong answer or a kernel that failed, that of the cause where a matrix could not be had.
int run_bench(const bench_options& options);

}  // namespace tulle::cli::bench
