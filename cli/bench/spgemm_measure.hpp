// Times one product: the whole call, and the numeric phase alone.
#pragma once

#include <tulle/ops/spgemm.hpp>
#include <tulle/ops/verify.hpp>

#include "harness.hpp"
#include "spgemm_record.hpp"

namespace tulle::cli::bench {

/// What is multiplied, in the memory of the context.
struct spgemm_input {
  matrix_ref a, b;
  spgemm_terms terms = {};
  double alpha = 1;
  double beta = 0;
};

struct spgemm_measurement {
  spgemm_record whole;                // plan, symbolic phase and C, sorted, seen from the host
  sample_summary numeric;             // microseconds of the values alone, into a C that exists; by events on a GPU
  std::string numeric_missing;        // why there are no such times
  std::string reason;                 // why the kernel was chosen
  matrix_ref c;                       // of the last whole call
  std::optional<matrix_ref> renewed;  // of the numeric phase, into values that were NaN
};

/// Warmed up and repeated as the harness does it on the host. `facts` is what the record begins with. Throws what the
/// plan throws.
spgemm_measurement measure_spgemm(const context& ctx, harness& clock, const spgemm_input& input,
                                  const spgemm_options& options, const spgemm_record& facts = {});

/// C = alpha A B + beta D of c64, c128, i64 or bool held to its bound; all on the host, A, B and D with 64-bit offsets.
spgemm_verdict check_further(const matrix_ref& a, const matrix_ref& b, const matrix_ref& c, double alpha = 1,
                             double beta = 0, const std::optional<matrix_ref>& d = {});

}  // namespace tulle::cli::bench
