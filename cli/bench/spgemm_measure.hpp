// Times one product: the whole call, and the numeric phase alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tulle/ops/spgemm.hpp>
#include <vector>

#include "harness.hpp"

namespace tulle::cli::bench {

/// What is multiplied, in the memory of the context.
template <scalar T, offset O>
struct spgemm_input {
  csr_view<T, O> a;
  csr_view<T, O> b;
  spgemm_terms<T, O> terms = {};
  T alpha = 1;
  T beta = 0;
};

struct spgemm_repeats {
  int warmup = 3;
  int timed = 10;
};

template <scalar T>
struct spgemm_measurement {
  std::string kernel;
  std::string reason;
  std::int64_t products = 0;
  std::int64_t nnz = 0;
  std::vector<double> whole;        // microseconds of each run: plan, symbolic phase and C, sorted, seen from the host
  std::vector<double> numeric;      // the values alone, into a C that is there; by events on a GPU
  std::string numeric_missing;      // why there is no time of it
  std::size_t peak_bytes = 0;       // of a whole call, taken from the context's memory beyond A, B and C
  std::size_t workspace_bytes = 0;  // what the plan still owns after it
  std::optional<any_csr<T>> c;      // of the last whole call
  std::optional<any_csr<T>> renewed;  // of the numeric phase, into values that were NaN
};

/// A call that takes longer than a second is warm with the first, and repeated for ten seconds at most. Throws what the
/// plan throws.
template <scalar T, offset O>
spgemm_measurement<T> measure_spgemm(const context& ctx, harness& clock, const spgemm_repeats& repeats,
                                     const spgemm_input<T, O>& input, const spgemm_options& options);

}  // namespace tulle::cli::bench
