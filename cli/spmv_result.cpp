#include "spmv_result.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tulle::cli {
namespace {

json to_json(const spmv_outcome& o) {
  json record =
      object(field("kernel", o.kernel), field("reason", o.reason), field("backend", o.backend),
             field("microseconds", o.microseconds), field("gflops", o.gflops), field("gbs", o.gbs),
             field("transpose", o.work.transpose), field("rhs", o.work.rhs), field("order", o.work.order),
             field("effort", o.effort), field("plan_us", o.plan_us), field("workspace_bytes", o.workspace_bytes));
  if (o.error_ratio)
    record.update(object(field("error_ratio", number(*o.error_ratio)), field("verified", o.verified())));
  return record;
}

void print_one(const spmv_outcome& o) {
  fmt::print("  kernel        {}\n  backend       {}\n  time          {:.2f} us (median)\n", o.reason, o.backend,
             o.microseconds);
  fmt::print("  speed         {:.3f} GFLOP/s, {:.3f} GB/s of compulsory traffic\n", o.gflops, o.gbs);
  fmt::print("  plan          {:.0f} us (effort {}), {} of its own\n", o.plan_us, o.effort,
             human_bytes(static_cast<double>(o.workspace_bytes)));
  if (o.error_ratio) print_verdict(o.verified(), fmt::format("largest error is {:.3f} of its bound", *o.error_ratio));
}

void print_table(const spmv_result& result) {
  fmt::print("  {:<20} {:>12} {:>10} {:>10} {:>12}  {}\n", "kernel", "us (median)", "GFLOP/s", "GB/s", "plan us",
             "error / bound");
  for (const spmv_outcome& o : result.outcomes) {
    fmt::print("  {:<20} {:>12.2f} {:>10.3f} {:>10.3f} {:>12.0f}  {}\n", o.kernel, o.microseconds, o.gflops, o.gbs,
               o.plan_us, o.error_ratio ? fmt::format("{:.3f}{}", *o.error_ratio, o.verified() ? "" : " WRONG") : "-");
  }
  for (const candidate& c : result.skipped) fmt::print("  {:<20} not run: {}\n", c.kernel, c.reason);
}

}  // namespace

bool spmv_result::verified() const { return std::ranges::all_of(outcomes, &spmv_outcome::verified); }

json to_json(const spmv_result& r) {
  json record = to_json(r.matrix);
  record.update(object(field("precision", r.precision), field("hash", r.hash)));
  if (!r.all) {
    record.update(to_json(r.outcomes.front()));
  } else {
    record.update(object(field("results", json::array()), field("skipped", json::array())));
    for (const spmv_outcome& o : r.outcomes) record["results"].push_back(to_json(o));
    for (const candidate& c : r.skipped)
      record["skipped"].push_back(object(field("kernel", c.kernel), field("reason", c.reason)));
  }
  if (r.stats) record.update(object(field("stats", to_json(*r.stats)), field("candidates", json::array())));
  for (const candidate& c : r.candidates) {
    record["candidates"].push_back(
        object(field("kernel", c.kernel), field("supported", c.supported), field("reason", c.reason)));
  }
  return record;
}

void print_text(const spmv_result& r) {
  fmt::print("{}, {}\n", headline(r.matrix), r.precision);
  if (r.all) return print_table(r);
  print_one(r.outcomes.front());
  for (const candidate& c : r.candidates) {
    fmt::print("  {:<13} {}\n", c.kernel, c.supported ? "takes this matrix" : c.reason);
  }
}

}  // namespace tulle::cli
