// What one application of a small matrix costs, by where the clock stands.
#pragma once

#include "measure.hpp"

namespace tulle::cli::bench {

/// For an operator planned for the subject; the cache stays warm. s.y is left as a graph of one application wrote it,
/// over NaN; as it was where nothing can be captured.
latencies measure_latency(const bench_run& run, subject& s, spmv_operator& op);

/// What --latency measures unless told otherwise: the plan's choice, the kernel without set-up, the vendor's CSR.
std::vector<std::string> latency_kernels(backend_kind backend);

/// Kernels down, clocks across, microseconds.
std::string latency_table(std::span<const record> records);

}  // namespace tulle::cli::bench
