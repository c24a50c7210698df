// One call of `tulle bench spgemm`.
#pragma once

#include "options.hpp"

namespace tulle::cli::bench {

/// C = A A, or A A^T where A is not square, by every kernel asked for: the whole call and the numeric phase. Exit codes
/// as run_bench. A vendor's kernel that fails is reported, and is no failure.
int run_spgemm_bench(const bench_options& options);

}  // namespace tulle::cli::bench
