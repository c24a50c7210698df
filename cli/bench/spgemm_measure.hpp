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
struct spgemm_input {
  matrix_ref a, b;
  spgemm_terms terms = {};
  double alpha = 1;
  double beta = 0;
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

struct spgemm_measurement : spgemm_timing {
  matrix_ref c;                       // of the last whole call
  std::optional<matrix_ref> renewed;  // of the numeric phase, into values that were NaN
};

/// Warmed up and repeated as the harness says; but a call that takes longer than a second is warmed up by one run and
/// repeated for ten seconds at most. Throws what the plan throws.
spgemm_measurement measure_spgemm(const context& ctx, harness& clock, const spgemm_input& input,
                                  const spgemm_options& options);

}  // namespace tulle::cli::bench
