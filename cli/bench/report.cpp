#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace tulle::cli::bench {
namespace {

using group = std::vector<const spmv_record*>;

std::string row_of(const spmv_record& r) {
  return fmt::format("{} {:<20} {:>11.1f} ±{:>8.1f} {:>8.2f} {:>8.1f} {:>6.1f} {:>11.0f} {:>10} {:>7.3f}{} {} ({})\n",
                     r.chosen ? '*' : ' ', r.kernel, r.time.median, r.time.stddev, r.gflops(), r.gbs(),
                     r.percent_of_bandwidth(), r.plan_us, r.break_even ? fmt::format("{:.0f}", *r.break_even) : "-",
                     r.error_ratio, r.is_right() ? ' ' : '!', r.bottleneck.name, r.bottleneck.why);
}

/// The plan's choice beside the fastest right answers; null where there is none.
struct standing {
  const spmv_record *chosen = nullptr, *own = nullptr, *vendor = nullptr;

  explicit standing(const group& records) {
    for (const spmv_record* r : records) {
      if (r->chosen) chosen = r;
      const spmv_record*& best = r->vendor ? vendor : own;
      if (r->is_right() && (best == nullptr || r->time.median < best->time.median)) best = r;
    }
  }
  [[nodiscard]] double over_own() const { return chosen->time.median / own->time.median; }
  [[nodiscard]] double over_vendor() const { return vendor->time.median / chosen->time.median; }
};

/// "* csr.merge takes 1.02 times as long as the best of ours (sell), is 1.31 times as fast as the vendor's best
/// (cusparse.csr2)"
std::string describe_choice(const standing& s) {
  if (s.chosen == nullptr) return "";
  std::string text = fmt::format("  * {}\n", s.chosen->reason);
  if (s.own != nullptr) {
    text += fmt::format("  * takes {:.2f} times as long as the best of ours ({})", s.over_own(), s.own->kernel);
  }
  if (s.vendor != nullptr) {
    text += fmt::format(", is {:.2f} times as fast as the vendor's best ({})", s.over_vendor(), s.vendor->kernel);
  }
  return text + '\n';
}

struct ratio {
  double value;
  std::string matrix;
};

/// "worst 1.08 (rmat-22), geometric mean 1.01"; worst is the largest of `ratios` or, if `low`, the smallest.
std::string describe_ratios(const std::vector<ratio>& ratios, bool low) {
  std::vector<double> values;
  for (const ratio& r : ratios) values.push_back(r.value);
  const auto [least, most] = std::ranges::minmax_element(ratios, {}, &ratio::value);
  const ratio& worst = low ? *least : *most;
  return fmt::format("worst {:.2f} ({}), geometric mean {:.2f}", worst.value, worst.matrix, geometric_mean(values));
}

std::string cell(std::optional<double> microseconds) {
  return microseconds ? fmt::format(" {:>9.2f}", *microseconds) : fmt::format(" {:>9}", "-");
}

}  // namespace

std::string subject_table(const subject& s, const spmv_results& measured) {
  std::string text = fmt::format("\n{}{}: {} x {}, {} nonzeros, {:.1f} per row (longest {}), {}", s.matrix.name,
                                 s.work.transpose ? ", transposed" : "", s.stats.rows, s.stats.cols, s.stats.nnz,
                                 s.stats.mean, s.stats.max, s.precision());
  text += s.work.rhs == 1 ? "\n" : fmt::format(", {} right-hand sides by {}\n", s.work.rhs, s.work.order);
  for (const cache_state state : {cache_state::cold, cache_state::warm}) {
    group sorted;
    for (const spmv_record& r : measured.records) {
      if (r.cache == name(state)) sorted.push_back(&r);
    }
    if (sorted.empty()) continue;
    std::ranges::stable_sort(sorted, {}, [](const spmv_record* r) { return r->time.median; });
    text += fmt::format("  {:<20} {:>11} ±{:>8} {:>8} {:>8} {:>6} {:>11} {:>10} {:>7}  bottleneck\n",
                        fmt::format("kernel, {}", name(state)), "us", "sd", "GFLOP/s", "GB/s", "% bw", "plan us",
                        "pays after", "error");
    for (const spmv_record* r : sorted) text += row_of(*r);
    text += describe_choice(standing(sorted));
  }
  text += omission_lines(measured.omitted);
  if (std::ranges::none_of(measured.records, &spmv_record::chosen)) {
    text += fmt::format("  the plan's choice was not measured: {}\n", s.reason);
  }
  return text;
}

std::string choice_summary(std::span<const spmv_record> records) {
  std::map<std::pair<std::string, std::string>, std::map<std::string, group>> groups;  // (precision, cache) -> matrix
  for (const spmv_record& r : records) groups[{r.precision, r.cache}][r.matrix].push_back(&r);
  std::string text;
  for (const auto& [kind, matrices] : groups) {
    std::vector<ratio> own_ratios, vendor_ratios;
    for (const auto& [matrix, of_matrix] : matrices) {
      const standing s(of_matrix);
      if (s.chosen != nullptr && s.own != nullptr) own_ratios.push_back({s.over_own(), matrix});
      if (s.chosen != nullptr && s.vendor != nullptr) vendor_ratios.push_back({s.over_vendor(), matrix});
    }
    if (own_ratios.empty()) continue;
    text += fmt::format("{}, {}: time of the choice / best of ours: {}, {} matrices\n", kind.first, kind.second,
                        describe_ratios(own_ratios, false), own_ratios.size());
    if (vendor_ratios.empty()) continue;
    text += fmt::format("{}, {}: vendor's best / time of the choice: {}, {} matrices\n", kind.first, kind.second,
                        describe_ratios(vendor_ratios, true), vendor_ratios.size());
  }
  return text.empty() ? text : "\n" + text;
}

std::string passes_table(std::span<const spmv_record> records) {
  std::string text = fmt::format("  {:<20} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "passes, us", "apply", "+ dots",
                                 "to read", "+ jacobi", "to read", "cache");
  for (const spmv_record& r : records) {
    if (!r.passes) continue;
    const auto more = [&](std::optional<double> time) { return time ? std::optional(*time - r.time.median) : time; };
    const auto reading = [&](double bytes) {
      return r.read_bandwidth > 0 ? std::optional(1e6 * bytes / r.read_bandwidth) : std::nullopt;
    };
    fmt::format_to(std::back_inserter(text), "{} {:<20}{}{}{}{}{} {:>9}\n", r.chosen ? '*' : ' ', r.kernel,
                   cell(r.time.median), cell(more(r.passes->dots)), cell(reading(r.passes->dots_bytes)),
                   cell(more(r.passes->jacobi)), cell(reading(r.passes->jacobi_bytes)), r.cache);
  }
  return text;
}

std::string latency_table(std::span<const spmv_record> records) {
  std::string text = fmt::format("  {:<20} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "latency, us", "event", "host",
                                 "submit", fmt::format("{} queued", latencies::applications),
                                 fmt::format("{} graph", latencies::applications), "graph host");
  std::vector<std::string> notes;  // each once
  for (const spmv_record& r : records) {
    if (!r.latency) continue;
    const latencies& l = *r.latency;
    const bool events = l.submit.has_value();
    fmt::format_to(std::back_inserter(text), "{} {:<20}{}{}{}{}{}{}\n", r.chosen ? '*' : ' ', r.kernel,
                   cell(events ? std::optional(r.time.median) : std::nullopt), cell(l.host), cell(l.submit),
                   cell(l.queued), cell(l.graph), cell(l.graph_host));
    if (!l.missing.empty() && std::ranges::find(notes, l.missing) == notes.end()) notes.push_back(l.missing);
  }
  for (const std::string& n : notes) text += fmt::format("  -: {}\n", n);
  return text;
}

std::string sweep_table(std::span<const spmv_record> records, const std::string& parameter) {
  if (records.empty()) return fmt::format("  no kernel here has {}\n", parameter);
  std::vector<std::string> variants;  // in the order measured
  std::map<std::string, std::map<std::string, double>> times;
  for (const spmv_record& r : records) {
    if (std::ranges::find(variants, r.variant) == variants.end()) variants.push_back(r.variant);
    times[fmt::format("{}, {}", r.kernel, r.cache)][r.variant] = r.time.median;
  }
  std::string text = fmt::format("  {:<26}", "us");
  for (const std::string& v : variants) text += fmt::format(" {:>16}", v);
  for (const auto& [kernel, by_variant] : times) {
    const auto best = std::ranges::min_element(by_variant, {}, [](const auto& entry) { return entry.second; });
    text += fmt::format("\n  {:<26}", kernel);
    for (const std::string& v : variants) {
      const auto t = by_variant.find(v);
      text += t == by_variant.end() ? fmt::format(" {:>16}", "-")
                                    : fmt::format(" {:>15.1f}{}", t->second, t == best ? '*' : ' ');
    }
  }
  return text + '\n';
}

}  // namespace tulle::cli::bench
