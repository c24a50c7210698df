// Times one product: the whole call, and the numeric phase alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tulle/ops/spgemm.hpp>

#include "harness.hpp"
#include "statistics.hpp"

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

struct spgemm_timing {
  std::string kernel;
  std::string reason;
  std::int64_t products = 0;  // multiplications a_ik b_kj
  std::int64_t nnz = 0;
  std::vector<double> whole;        // microseconds of each run: plan, symbolic phase and C, sorted, seen from the host
  std::vector<double> numeric;      // the values alone, into a C that exists; by events on a GPU
  std::string numeric_missing;      // why there are no such times
  std::size_t peak_bytes = 0;       // of a whole call, taken from the context's memory beyond A, B and C
  std::size_t workspace_bytes = 0;  // what the plan still owns after it

  [[nodiscard]] double microseconds() const { return summarise(whole).median; }
};

template <scalar T>
struct spgemm_measurement : spgemm_timing {
  std::optional<any_csr<T>> c;        // of the last whole call
  std::optional<any_csr<T>> renewed;  // of the numeric phase, into values that were NaN
};

/// Warmed up and repeated as the harness says; but a call that takes longer than a second is warmed up by one run and
/// repeated for ten seconds at most. Throws what the plan throws.
template <scalar T, offset O>
spgemm_measurement<T> measure_spgemm(const context& ctx, harness& clock, const spgemm_input<T, O>& input,
                                     const spgemm_options& options);

/// A product on the host with 64-bit offsets, wherever it was made.
template <scalar T>
csr<T> to_host(const context& ctx, any_csr<T>&& c);

}  // namespace tulle::cli::bench
