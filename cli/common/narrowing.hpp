// --precision mixed: what a plan may lose of the values of A, and what it stores.
#pragma once

#include <optional>
#include <string>
#include <tulle/ops/spmv.hpp>

#include "options.hpp"
#include "output.hpp"

namespace CLI {
class App;
}

namespace tulle::cli {

/// A promise or a rule; neither: every bit is kept.
struct narrowing {
  value_tolerance values = {};
  std::optional<magnitude_rule> rule = {};

  [[nodiscard]] bool is_asked_for() const { return values.tolerance > 0 || rule.has_value(); }
  void tell(spmv_options& options) const;
  /// What the answer of a plan is held to, beyond rounding: the promise, or of a rule what the plan says that it lost.
  [[nodiscard]] value_tolerance promised(const any_spmv_plan& plan) const;
  /// "row=1e-06", "below=0.5,percent=99": for names of records.
  [[nodiscard]] std::string label() const;
};

void add_promise_options(CLI::App& app, run_options& o);  // --tolerance --bound
void add_rule_options(CLI::App& app, run_options& o);     // --below --shrink --percent
/// Throws INVALID_ARGUMENT where these options and --precision do not make sense together.
narrowing narrowing_of(const run_options& o);
/// The same for solvers, whose iterations are mixed where nothing is said of A: no narrowing then.
narrowing narrowing_of_solver(const run_options& o);

/// Tolerance and bound, or limit and percentage.
json to_json(const narrowing& n);
/// By type: rows, entries and bytes.
json to_json(const stored_values& stored);
/// "all values in f32", or "f64: 20.0% of the rows, 20.1% of the entries, 1.2 MB; f32: ...".
std::string describe(const stored_values& stored);

}  // namespace tulle::cli
