// Measures kernels of the table on a subject.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness.hpp"
#include "machine.hpp"
#include "options.hpp"
#include "record.hpp"
#include "subject.hpp"

namespace tulle::cli::bench {

struct results {
  std::vector<record> records;
  std::vector<omission> omitted;
};

/// What the measuring of every kernel shares.
struct bench_run {
  const context& ctx;
  const machine& host;
  harness& clock;
  std::vector<cache_state> states;
  bool diagnose = true;
  bool latency = false;  // each record gets its latencies
};

/// The table entries that `--kernels` names, in the table's order: all, default (the plan's choice and the kernel
/// without set-up), or names. Throws INVALID_ARGUMENT for a name that is not in the table.
std::vector<const spmv_kernel*> select_kernels(const bench_run& run, const subject& s,
                                               std::span<const std::string> names);

/// One kernel, planned, timed in every cache state and checked; appends records, or an omission with the reason: a
/// kernel that cannot take the matrix, or for which memory does not suffice, is no reason to stop.
void measure_kernel(const bench_run& run, subject& s, const spmv_kernel& kernel, const spmv_options& options,
                    const std::string& variant, results& out);

/// Fills in `break_even` of records of one subject, against the kernel named, which needs no set-up.
void add_break_even(std::span<record> records, std::string_view base_name);

/// The kernel that effort none takes.
std::string_view base_kernel(backend_kind backend, const workload& work);

}  // namespace tulle::cli::bench
