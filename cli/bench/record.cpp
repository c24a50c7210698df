#include "record.hpp"

#include <fmt/format.h>

#include <cmath>

namespace tulle::cli::bench {
namespace {

/// JSON has no infinity and no NaN: they become strings that say so.
json number(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  return v;
}

json nullable(const std::optional<double>& v) { return v ? json(*v) : json(nullptr); }

void add_latency(const latencies& l, json& j) {
  j["host_us"] = l.host;
  j["submit_us"] = nullable(l.submit);
  j["queued_us"] = nullable(l.queued);
  j["graph_us"] = nullable(l.graph);
  j["graph_host_us"] = nullable(l.graph_host);
  j["latency_applications"] = latencies::applications;
  j["latency_missing"] = l.missing;
}

}  // namespace

std::string record::name() const {
  std::string text = fmt::format("{}/{}/{}/{}/{}", work.rhs == 1 ? "spmv" : "spmm", kernel, matrix, precision, cache);
  if (work.transpose) text += "/transposed";
  if (work.rhs > 1) text += fmt::format("/rhs={},{}", work.rhs, work.order);
  return variant.empty() ? text : text + "/" + variant;
}

json timed(const std::string& name, const sample_summary& microseconds) {
  json j;
  j["name"] = name;
  j["run_name"] = name;
  j["run_type"] = "iteration";
  j["iterations"] = microseconds.count;
  j["real_time"] = microseconds.median;
  j["cpu_time"] = microseconds.median;
  j["time_unit"] = "us";
  j["mean"] = microseconds.mean;
  j["stddev"] = microseconds.stddev;
  j["median"] = microseconds.median;
  j["min"] = microseconds.min;
  return j;
}

json to_json(const record& r) {
  json j = timed(r.name(), r.time);
  j["gflops"] = r.gflops();
  j["gbs"] = r.gbs();
  j["moved_gbs"] = r.moved_gbs();
  j["percent_of_bandwidth"] = r.percent_of_bandwidth();
  j["compulsory_bytes"] = r.compulsory_bytes;
  j["moved_bytes"] = r.moved_bytes;
  j["transpose"] = r.work.transpose;
  j["rhs"] = r.work.rhs;
  j["order"] = r.work.order;
  j["effort"] = r.effort;
  j["plan_us"] = r.plan_us;
  j["break_even"] = nullable(r.break_even);
  j["bottleneck"] = r.bottleneck.name;
  j["bottleneck_why"] = r.bottleneck.why;
  j["error_ratio"] = number(r.error_ratio);
  j["kernel"] = r.kernel;
  j["variant"] = r.variant;
  j["vendor"] = r.vendor;
  j["chosen"] = r.chosen;
  j["reason"] = r.reason;
  j["parameters"] = r.parameters;
  j["workspace_bytes"] = r.workspace_bytes;
  j["matrix"] = r.matrix;
  j["matrix_hash"] = r.matrix_hash;
  j["rows"] = r.rows;
  j["cols"] = r.cols;
  j["nnz"] = r.nnz;
  j["precision"] = r.precision;
  j["cache"] = r.cache;
  if (r.latency) add_latency(*r.latency, j);
  return j;
}

json to_json(const omission& o) {
  return {{"kernel", o.kernel},
          {"matrix", o.matrix},
          {"precision", o.precision},
          {"reason", o.reason},
          {"failed", o.failed}};
}

std::optional<double> break_even(double plan_us, double time, double base_time) {
  if (time >= base_time) return std::nullopt;
  return std::ceil(plan_us / (base_time - time));
}

}  // namespace tulle::cli::bench
