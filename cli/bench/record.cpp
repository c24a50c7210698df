#include "record.hpp"

#include <fmt/format.h>

#include <cmath>

#include "cells.hpp"
#include "machine.hpp"

namespace tulle::cli::bench {

std::string spmv_record::name() const {
  std::string text = fmt::format("{}/{}/{}/{}/{}", work.rhs == 1 ? "spmv" : "spmm", kernel, matrix, precision, cache);
  if (work.transpose) text += "/transposed";
  if (work.rhs > 1) text += fmt::format("/rhs={},{}", work.rhs, work.order);
  if (mixed.is_asked_for()) text += "/" + mixed.label();
  return variant.empty() ? text : text + "/" + variant;
}

std::string spmv_record::complaint() const { return fmt::format("error is {:.3g} times its bound", error_ratio); }

spmv_record describe(const spmv_problem& p, const any_spmv_plan& plan) {
  spmv_record r;
  r.kernel = plan.kernel();
  r.matrix = p.matrix.name;
  r.matrix_hash = p.hash;
  r.precision = p.precision();
  r.parameters = plan.parameters();
  r.rows = p.stats.rows;
  r.cols = p.stats.cols;
  r.nnz = p.stats.nnz;
  r.work = p.work;
  r.mixed = p.mixed;
  r.stored = plan.stored();
  r.compulsory_bytes = compulsory_bytes(p.stats, size_of(p.a.types.value), p.beta != 0, p.work.rhs);
  r.matrix_bytes = plan.matrix_bytes();
  r.moved_bytes = static_cast<double>(plan.matrix_bytes() + p.x.bytes() + p.y.bytes());  // x and y once
  r.effort = name(plan.effort());
  r.plan_us = plan.plan_microseconds();
  r.workspace_bytes = plan.workspace_bytes();
  return r;
}

json common_json(const std::string& name, const measurement& m) {
  return object(field("name", name), field("run_name", name), field("run_type", "iteration"),
                field("iterations", m.time.count), field("real_time", m.time.median), field("cpu_time", m.time.median),
                field("time_unit", "us"), field("mean", m.time.mean), field("stddev", m.time.stddev),
                field("median", m.time.median), field("min", m.time.min), field("lower_quartile", m.time.lower),
                field("upper_quartile", m.time.upper), field("cores_of_others", nullable(m.time.others)),
                field("disturbed", m.disturbed), field("kernel", m.kernel), field("vendor", m.vendor),
                field("chosen", m.chosen), field("matrix", m.matrix), field("matrix_hash", m.matrix_hash),
                field("rows", m.rows), field("cols", m.cols), field("nnz", m.nnz), field("precision", m.precision),
                field("workspace_bytes", m.workspace_bytes), field("error_ratio", number(m.error_ratio)));
}

json to_json(const spmv_record& r) {
  json j = common_json(r.name(), r);
  j.update(object(field("gflops", r.gflops()), field("gbs", r.gbs()), field("moved_gbs", r.moved_gbs()),
                  field("percent_of_bandwidth", unless_unknown(r.percent_of_bandwidth())),
                  field("compulsory_bytes", r.compulsory_bytes), field("moved_bytes", r.moved_bytes),
                  field("transpose", r.work.transpose), field("rhs", r.work.rhs), field("order", r.work.order),
                  field("effort", r.effort), field("plan_us", r.plan_us), field("break_even", nullable(r.break_even)),
                  field("bottleneck", r.bottleneck.name.empty() ? json() : json(r.bottleneck.name)),
                  field("bottleneck_why", r.bottleneck.why), field("variant", r.variant), field("reason", r.reason),
                  field("parameters", r.parameters), field("cache", r.cache), field("matrix_bytes", r.matrix_bytes),
                  field("stored", cli::to_json(r.stored))));
  if (r.mixed.is_asked_for()) j.update(cli::to_json(r.mixed));
  if (r.passes) {
    j.update(object(field("apply_dots_us", nullable(r.passes->dots)), field("jacobi_us", nullable(r.passes->jacobi)),
                    field("apply_dots_bytes", r.passes->dots_bytes), field("jacobi_bytes", r.passes->jacobi_bytes)));
  }
  if (!r.latency) return j;
  j.update(object(field("host_us", r.latency->host), field("submit_us", nullable(r.latency->submit)),
                  field("queued_us", nullable(r.latency->queued)), field("graph_us", nullable(r.latency->graph)),
                  field("graph_host_us", nullable(r.latency->graph_host)),
                  field("latency_applications", latencies::applications),
                  field("latency_missing", r.latency->missing)));
  return j;
}

json to_json(const omission& o) {
  return object(field("kernel", o.kernel), field("matrix", o.matrix), field("precision", o.precision),
                field("reason", o.reason), field("failed", o.failed));
}

std::string without_plan_time(std::string reason) {
  const std::size_t at = reason.rfind(", planned in "), stop = reason.find(']', at);
  if (at != std::string::npos && stop != std::string::npos) reason.erase(at, stop - at);
  return reason;
}

void add_omissions(page& to, const std::vector<omission>& omitted) {
  table t({{.left = true}, {.wraps = true}});
  for (const omission& o : omitted) {
    t.row({o.kernel, fmt::format("{}: {}", o.failed ? "FAILED" : "not run", o.reason)}, ' ',
          o.failed ? look::red : look::plain);
  }
  to.add(t);
}

std::optional<double> break_even(double plan_us, double time, double base_time) {
  if (time >= base_time) return std::nullopt;
  return std::ceil(plan_us / (base_time - time));
}

}  // namespace tulle::cli::bench
