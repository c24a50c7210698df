// Measures kernels of the table on a subject.
#pragma once

#include "common/progress.hpp"
#include "harness.hpp"
#include "machine.hpp"
#include "record.hpp"
#include "subject.hpp"

namespace tulle::cli::bench {

/// What the measuring of every kernel shares.
struct bench_run {
  const context& ctx;
  const machine& host;
  harness& clock;
  std::vector<cache_state> states;
  bool diagnose = true;
  bool latency = false;  // each record gets its latencies
  bool passes = false;   // and its fused passes
  progress_bar* bar = nullptr;

  /// Parts of progress that one kernel is.
  [[nodiscard]] std::size_t steps() const { return 1 + states.size(); }
};

/// A kernel on a subject, in one variant of a sweep or in none ("").
struct trial {
  const bench_run& run;
  subject& s;
  const kernel_info& kernel;
  spmv_options options = {};
  std::string variant = {};
};

/// One kernel, planned, timed in every cache state and checked; appends records, or an omission with the reason: a
/// kernel that cannot take the matrix, or for which memory does not suffice, is no reason to stop.
void measure_kernel(const trial& t, spmv_results& out);

/// Microseconds of the fastest run of the same kernel when every column index is 0, so that gathering x costs nothing.
/// Nothing when the altered matrix does not fit in memory, or is stored in another size than `matrix_bytes` (a format
/// that merges columns, as blocks do): then the times are not comparable.
std::optional<double> time_without_gather(const trial& t, cache_state state, std::size_t matrix_bytes);
/// The same when the nonzeros are spread evenly over the rows. Nothing when no row is longer than twice the mean, or
/// the kernel or the memory does not allow it.
std::optional<double> time_with_even_rows(const trial& t, cache_state state);

/// The passes that the plan has, for floating-point vectors. s.y is left as they wrote it.
fused_passes measure_passes(const bench_run& run, subject& s, const any_spmv_plan& plan, cache_state state);

/// What one application costs, by where the clock stands; the cache stays warm. s.y is left as a graph of one
/// application wrote it, over NaN; as it was where nothing can be captured.
latencies measure_latency(const bench_run& run, subject& s, const any_spmv_plan& plan);

/// Fills in `break_even` of records of one subject, against the kernel named, which needs no set-up.
void add_break_even(std::span<spmv_record> records, std::string_view base_name);

}  // namespace tulle::cli::bench
