#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace tulle::cli::bench {
namespace {

using group = std::vector<const record*>;

std::string format_break_even(const record& r) {
  if (!r.break_even) return "-";
  return fmt::format("{:.0f}", *r.break_even);
}

void add_row(std::string& text, const record& r) {
  fmt::format_to(std::back_inserter(text),
                 "{} {:<20} {:>11.1f} ±{:>8.1f} {:>8.2f} {:>8.1f} {:>6.1f} {:>11.0f} {:>10} {:>7.3f}{} {} ({})\n",
                 r.chosen ? '*' : ' ', r.kernel, r.time.median, r.time.stddev, r.gflops(), r.gbs(),
                 r.percent_of_bandwidth(), r.plan_us, format_break_even(r), r.error_ratio, r.is_right() ? ' ' : '!',
                 r.bottleneck.name, r.bottleneck.why);
}

const record* fastest(const group& records, bool vendor) {
  const record* best = nullptr;
  for (const record* r : records) {
    if (r->vendor == vendor && r->is_right() && (best == nullptr || r->time.median < best->time.median)) best = r;
  }
  return best;
}

const record* choice(const group& records) {
  const auto found = std::ranges::find_if(records, &record::chosen);
  return found == records.end() ? nullptr : *found;
}

/// "* csr.merge takes 1.02 times the best of ours (sell) and is 1.31 times as fast as the vendor's best
/// (cusparse.csr2)"
std::string describe_choice(const group& records) {
  const record* chosen = choice(records);
  if (chosen == nullptr) return "";
  std::string text = fmt::format("  * {}\n", chosen->reason);
  if (const record* own = fastest(records, false)) {
    text += fmt::format("  * takes {:.2f} times as long as the best of ours ({})",
                        chosen->time.median / own->time.median, own->kernel);
  }
  if (const record* vendor = fastest(records, true)) {
    text += fmt::format(", is {:.2f} times as fast as the vendor's best ({})",
                        vendor->time.median / chosen->time.median, vendor->kernel);
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

}  // namespace

std::string subject_table(const subject& s, std::span<const record> records, std::span<const omission> omitted) {
  const std::string_view precision = name(s.a.types.value);
  std::string text = fmt::format("\n{}{}: {} x {}, {} nonzeros, {:.1f} a row (longest {}), {}", s.name,
                                 s.work.transpose ? ", transposed" : "", s.a.rows, s.a.cols, s.a.nnz, s.stats.mean,
                                 s.stats.max, precision);
  text += s.work.rhs == 1 ? "\n" : fmt::format(", {} right-hand sides by {}\n", s.work.rhs, s.work.order);
  for (const cache_state state : {cache_state::cold, cache_state::warm}) {
    group sorted;
    for (const record& r : records) {
      if (r.cache == name(state)) sorted.push_back(&r);
    }
    if (sorted.empty()) continue;
    std::ranges::stable_sort(sorted, {}, [](const record* r) { return r->time.median; });
    text += fmt::format("  {:<20} {:>11} ±{:>8} {:>8} {:>8} {:>6} {:>11} {:>10} {:>7}  bottleneck\n",
                        fmt::format("kernel, {}", name(state)), "us", "sd", "GFLOP/s", "GB/s", "% bw", "plan us",
                        "pays after", "error");
    for (const record* r : sorted) add_row(text, *r);
    text += describe_choice(sorted);
  }
  for (const omission& o : omitted) {
    text += fmt::format("  {:<20} {}: {}\n", o.kernel, o.failed ? "FAILED" : "not run", o.reason);
  }
  if (records.empty() || std::ranges::none_of(records, &record::chosen)) {
    text += fmt::format("  the plan's choice was not measured: {}\n", s.reason);
  }
  return text;
}

std::string choice_summary(std::span<const record> records) {
  std::map<std::pair<std::string, std::string>, std::map<std::string, group>> groups;  // (precision, cache) -> matrix
  for (const record& r : records) groups[{r.precision, r.cache}][r.matrix].push_back(&r);
  std::string text;
  for (const auto& [kind, matrices] : groups) {
    std::vector<ratio> own_ratios, vendor_ratios;
    for (const auto& [matrix, of_matrix] : matrices) {
      const record* chosen = choice(of_matrix);
      if (chosen == nullptr) continue;
      const record* own = fastest(of_matrix, false);
      const record* vendor = fastest(of_matrix, true);
      if (own != nullptr) own_ratios.push_back({chosen->time.median / own->time.median, matrix});
      if (vendor != nullptr) vendor_ratios.push_back({vendor->time.median / chosen->time.median, matrix});
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

std::string failures(const results& all) {
  std::string text;
  for (const record& r : all.records) {
    if (!r.is_right()) text += fmt::format("WRONG: {}: error is {:.3g} times its bound\n", r.name(), r.error_ratio);
  }
  for (const omission& o : all.omitted) {
    if (o.failed) text += fmt::format("FAILED: {} on {} in {}: {}\n", o.kernel, o.matrix, o.precision, o.reason);
  }
  return text;
}

}  // namespace tulle::cli::bench
