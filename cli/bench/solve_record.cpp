#include "solve_record.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cells.hpp"
#include "common/quantity.hpp"
#include "machine.hpp"

namespace tulle::cli::bench {

std::string solve_record::name() const {
  return fmt::format("solve/{}/{}/{}/{}", kernel, matrix, precision, preconditioner);
}

std::string solve_record::complaint() const {
  return fmt::format("{} after {}, residual {:.2e} of ||b||", status, counted(iterations, "iteration"), relative_residual);
}

double solve_record::model_bytes() const {
  const double value = precision == "f64" ? 8 : 4;
  return (value + 4) * static_cast<double>(nnz) + (4 + 10 * value) * static_cast<double>(rows);
}

json to_json(const solve_record& r) {
  json j = common_json(r.name(), r);
  j.update(object(field("gbs", r.gbs()), field("percent_of_bandwidth", unless_unknown(r.percent_of_bandwidth())),
                  field("model_bytes", r.model_bytes()), field("preconditioner", r.preconditioner),
                  field("reason", r.reason), field("status", r.status), field("setup_us", r.setup_us),
                  field("solve_us", r.solve_us), field("iterations", r.iterations),
                  field("relative_residual", number(r.relative_residual))));
  if (r.precision == "mixed") {
    j.update(object(field("corrections", r.corrections), field("wide_iterations", r.wide_iterations)));
  }
  return j;
}

void add_solves(page& to, const solve_record& matrix, const solve_results& measured) {
  to.line().line(fmt::format("{}: {} x {}, {}, {}", matrix.matrix, grouped(matrix.rows), grouped(matrix.cols),
                             counted(matrix.nnz, "nonzero"), matrix.precision),
                 look::bold);
  table t({{.title = "solver", .left = true},
           {.title = "preconditioner", .left = true},
           {"iteration"},
           {"IQR"},
           {"GB/s", 4},
           {"% bw", 3},
           {"set-up", 5},
           {"iterations"},
           {"solve"},
           {"residual", 2},
           {.title = "status", .drop = 1, .left = true}});
  std::vector<const solve_record*> sorted;
  for (const solve_record& r : measured.records) sorted.push_back(&r);
  std::ranges::stable_sort(sorted, {}, [](const solve_record* r) { return r->time.median; });
  for (const solve_record* r : sorted) {
    t.row({r->kernel, r->preconditioner, median_cell(*r), spread_cell(r->time), three_digits(r->gbs()),
           percent_cell(r->percent_of_bandwidth()), human_time(r->setup_us), grouped(r->iterations),
           human_time(r->solve_us), fmt::format("{:.1e}", r->relative_residual), r->status},
          mark_of(*r), look_of(*r, r->is_right()));
  }
  to.add(t);
  explain_disturbed(to, measured.records);
  add_omissions(to, measured.omitted);
}

}  // namespace tulle::cli::bench
