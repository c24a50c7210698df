#include "solve_record.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tulle::cli::bench {

std::string solve_record::name() const {
  return fmt::format("solve/{}/{}/{}/{}", kernel, matrix, precision, preconditioner);
}

std::string solve_record::complaint() const {
  return fmt::format("{} after {} iterations, residual {:.2e} of ||b||", status, iterations, relative_residual);
}

double solve_record::model_bytes() const {
  const double value = precision == "f64" ? 8 : 4;
  return (value + 4) * static_cast<double>(nnz) + (4 + 10 * value) * static_cast<double>(rows);
}

json to_json(const solve_record& r) {
  json j = common_json(r.name(), r);
  j.update(object(field("gbs", r.gbs()), field("percent_of_bandwidth", r.percent_of_bandwidth()),
                  field("model_bytes", r.model_bytes()), field("preconditioner", r.preconditioner),
                  field("reason", r.reason), field("status", r.status), field("setup_us", r.setup_us),
                  field("solve_us", r.solve_us), field("iterations", r.iterations),
                  field("relative_residual", number(r.relative_residual))));
  if (r.precision == "mixed") {
    j.update(object(field("corrections", r.corrections), field("wide_iterations", r.wide_iterations)));
  }
  return j;
}

std::string solve_table(const solve_record& matrix, const solve_results& measured) {
  std::string text = fmt::format(
      "\n{}: {} x {}, {} nonzeros, {}\n  {:<20} {:<13} {:>12} ±{:>8} {:>8} {:>7} {:>11} {:>10} {:>12} {:>9}  {}\n",
      matrix.matrix, matrix.rows, matrix.cols, matrix.nnz, matrix.precision, "solver", "preconditioner", "us/iteration",
      "sd", "GB/s", "% bw", "set-up us", "iterations", "solve us", "residual", "status");
  std::vector<const solve_record*> sorted;
  for (const solve_record& r : measured.records) sorted.push_back(&r);
  std::ranges::stable_sort(sorted, {}, [](const solve_record* r) { return r->time.median; });
  for (const solve_record* r : sorted) {
    text += fmt::format(
        "{} {:<20} {:<14} {:>12.2f} ±{:>8.2f} {:>8.1f} {:>7.1f} {:>11.0f} {:>10} {:>12.0f} {:>9.2e}  {}\n",
        r->chosen ? '*' : ' ', r->kernel, r->preconditioner, r->time.median, r->time.stddev, r->gbs(),
        r->percent_of_bandwidth(), r->setup_us, r->iterations, r->solve_us, r->relative_residual, r->status);
  }
  return text + omission_lines(measured.omitted);
}

}  // namespace tulle::cli::bench
