// One measurement of a solver as Google Benchmark's JSON, and the table of all of one matrix.
#pragma once

#include "common/page.hpp"
#include "record.hpp"

namespace tulle::cli::bench {

/// One solver with one preconditioner on one matrix; the time is that of one iteration.
struct solve_record : measurement {
  std::string preconditioner;
  std::string reason;
  std::string status;            // of a solve to the residual asked for
  double setup_us = 0;           // from the CSR on the backend to a ready solver
  double solve_us = 0;           // to the residual asked for, the median
  int iterations = 0;            // that it took
  int corrections = 0;           // of mixed precision
  int wide_iterations = 0;       // of those iterations, in f64
  double relative_residual = 0;  // the true one, of that solve
  double read_bandwidth = 0;     // of the machine, bytes a second

  /// "solve/cg.operations/cant/f64/jacobi".
  [[nodiscard]] std::string name() const;
  [[nodiscard]] bool is_right() const { return status == "SUCCESS"; }
  [[nodiscard]] bool is_failure() const { return !is_right(); }
  [[nodiscard]] std::string complaint() const;
  /// What an iteration of Jacobi's or no preconditioner moves at least where vectors are moved as rarely as the method
  /// allows: values, 32-bit columns and offsets once, and 10 vectors.
  [[nodiscard]] double model_bytes() const;
  [[nodiscard]] double gbs() const { return model_bytes() / time.median * 1e-3; }
  [[nodiscard]] double percent_of_bandwidth() const { return read_bandwidth > 0 ? gbs() * 1e11 / read_bandwidth : 0; }
};
using solve_results = results<solve_record>;

json to_json(const solve_record& r);
/// `matrix` says what is solved, also where there is no record.
void add_solves(page& to, const solve_record& matrix, const solve_results& measured);

}  // namespace tulle::cli::bench
