// Times a kernel on altered copies of its matrix, to learn what holds it back.
#pragma once

#include <optional>

#include "measure.hpp"

namespace tulle::cli::bench {

/// Microseconds of the fastest run of the same kernel when every column index is 0, so that gathering x costs nothing.
/// Nothing when the altered matrix does not fit in memory, or is stored in another size than `matrix_bytes` (a format
/// that merges columns, as blocks do): then the times are not comparable.
std::optional<double> time_without_gather(const bench_run& run, subject& s, const spmv_kernel& kernel,
                                          const spmv_options& options, cache_state state, std::size_t matrix_bytes);

/// The same when the nonzeros are spread evenly over the rows. Nothing when no row is longer than twice the mean, or
/// the kernel or the memory does not allow it.
std::optional<double> time_with_even_rows(const bench_run& run, subject& s, const spmv_kernel& kernel,
                                          const spmv_options& options, cache_state state);

}  // namespace tulle::cli::bench
