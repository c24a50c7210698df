#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cells.hpp"

namespace tulle::cli::bench {
namespace {

using group = std::vector<const spmv_record*>;

/// `first`: of the tables of one matrix, which has what is the same in all of them.
table kernel_table(const group& sorted, std::string_view state, bool first) {
  table t({{.title = fmt::format("kernel, {}", state), .left = true},
           {"median"},
           {"IQR"},
           {"GFLOP/s", 4},
           {"GB/s"},
           {"% bw"},
           {"plan", 3},
           {"pays after", 5},
           {"error", 2},
           {.title = "bottleneck", .drop = 1, .left = true},
           {.title = "because", .drop = 6, .wraps = true}});
  for (const spmv_record* r : sorted) {
    t.row({r->kernel, median_cell(*r), spread_cell(r->time), three_digits(r->gflops()), three_digits(r->gbs()),
           percent_cell(r->percent_of_bandwidth()), first ? human_time(r->plan_us) : "",
           r->break_even ? grouped(static_cast<std::int64_t>(*r->break_even)) : "-",
           error_cell(r->error_ratio, r->is_right()), r->bottleneck.name.empty() ? "-" : r->bottleneck.name,
           r->bottleneck.why},
          mark_of(*r), look_of(*r, r->is_right()));
  }
  return t;
}

/// The plan's choice beside the fastest right answers; null where there is none.
struct standing {
  const spmv_record *chosen = nullptr, *own = nullptr, *vendor = nullptr;
  std::size_t owns = 0;  // kernels of ours that were measured
  bool all = true;       // so were all that take the matrix

  explicit standing(const group& records) {
    for (const spmv_record* r : records) {
      if (r->chosen) chosen = r;
      owns += r->vendor ? 0 : 1;
      all = all && r->all_measured;
      const spmv_record*& best = r->vendor ? vendor : own;
      if (r->is_right() && (best == nullptr || r->time.median < best->time.median)) best = r;
    }
  }
  /// Whether the choice is beside others of ours.
  [[nodiscard]] bool has_own() const { return chosen != nullptr && own != nullptr && (all || owns > 1); }
  /// 0: all of ours that take the matrix.
  [[nodiscard]] std::size_t among() const { return all ? 0 : owns; }
  [[nodiscard]] double over_own() const { return chosen->time.median / own->time.median; }
  [[nodiscard]] double over_vendor() const { return vendor->time.median / chosen->time.median; }
};

/// "best of ours", or "best of the 3 measured".
std::string best_of(std::size_t among) {
  return among == 0 ? "best of ours" : fmt::format("best of the {} measured", among);
}

/// "* csr.merge takes 1.02 times as long as the best of ours (sell), is 1.31 times as fast as the vendor's best
/// (cusparse.csr2)"
/// `first`: of the states of the cache, which says why.
void add_choice(page& to, const standing& s, bool first) {
  if (s.chosen == nullptr) return;
  if (first) to.line("  * " + without_plan_time(s.chosen->reason));
  std::string text;
  if (s.has_own()) {
    text = fmt::format("takes {:.2f} times as long as the {} ({})", s.over_own(), best_of(s.among()), s.own->kernel);
  }
  if (s.vendor != nullptr) {
    text += fmt::format("{}is {:.2f} times as fast as the vendor's best ({})", text.empty() ? "" : ", ",
                        s.over_vendor(), s.vendor->kernel);
  }
  if (!text.empty()) to.line("  * " + text);
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

std::string cell(std::optional<double> microseconds) { return microseconds ? human_time(*microseconds) : "-"; }

}  // namespace

void add_subject(page& to, const subject& s, const spmv_results& measured) {
  std::string head = fmt::format("{}{}: {} x {}, {}, {:.1f} per row (longest {}), {}", s.matrix.name,
                                 s.work.transpose ? ", transposed" : "", grouped(s.stats.rows), grouped(s.stats.cols),
                                 counted(s.stats.nnz, "nonzero"), s.stats.mean, grouped(s.stats.max), s.precision());
  if (s.work.rhs > 1) head += fmt::format(", {} right-hand sides by {}", s.work.rhs, s.work.order);
  to.line().line(head, look::bold);
  bool first = true;
  for (const cache_state state : {cache_state::cold, cache_state::warm}) {
    group sorted;
    for (const spmv_record& r : measured.records) {
      if (r.cache == name(state)) sorted.push_back(&r);
    }
    if (sorted.empty()) continue;
    std::ranges::stable_sort(sorted, {}, [](const spmv_record* r) { return r->time.median; });
    to.add(kernel_table(sorted, name(state), first));
    add_choice(to, standing(sorted), first);
    first = false;
  }
  explain_disturbed(to, measured.records);
  add_omissions(to, measured.omitted);
  if (std::ranges::none_of(measured.records, &spmv_record::chosen)) {
    to.line(fmt::format("  the plan's choice was not measured: {}", s.reason));
  }
}

void add_summary(page& to, std::span<const spmv_record> records) {
  std::map<std::pair<std::string, std::string>, std::map<std::string, group>> groups;  // (precision, cache) -> matrix
  for (const spmv_record& r : records) groups[{r.precision, r.cache}][r.matrix].push_back(&r);
  bool first = true;
  for (const auto& [kind, matrices] : groups) {
    std::map<std::size_t, std::vector<ratio>> own_ratios;  // by how many of ours were measured, 0 for all
    std::vector<ratio> vendor_ratios;
    for (const auto& [matrix, of_matrix] : matrices) {
      const standing s(of_matrix);
      if (s.has_own()) own_ratios[s.among()].push_back({s.over_own(), matrix});
      if (s.chosen != nullptr && s.vendor != nullptr) vendor_ratios.push_back({s.over_vendor(), matrix});
    }
    const auto add = [&](std::string_view what, const std::vector<ratio>& ratios, bool low) {
      if (ratios.empty()) return;
      if (std::exchange(first, false)) to.line();
      to.line(fmt::format("{}, {}: {}: {}, {}", kind.first, kind.second, what, describe_ratios(ratios, low),
                          counted(std::ssize(ratios), "matrix", "matrices")));
    };
    for (const auto& [among, ratios] : own_ratios) add("the choice / " + best_of(among), ratios, false);
    add("vendor's best / the choice", vendor_ratios, true);
  }
}

void add_passes(page& to, std::span<const spmv_record> records) {
  table t({{.title = "passes, medians", .left = true},
           {"apply"},
           {"+ dots"},
           {"to read", 2},
           {"+ jacobi"},
           {"to read", 2},
           {"cache"}});
  for (const spmv_record& r : records) {
    if (!r.passes) continue;
    const auto more = [&](std::optional<double> time) { return time ? std::optional(*time - r.time.median) : time; };
    const auto reading = [&](double bytes) {
      return r.read_bandwidth > 0 ? std::optional(1e6 * bytes / r.read_bandwidth) : std::nullopt;
    };
    t.row({r.kernel, median_cell(r), cell(more(r.passes->dots)), cell(reading(r.passes->dots_bytes)),
           cell(more(r.passes->jacobi)), cell(reading(r.passes->jacobi_bytes)), r.cache},
          mark_of(r));
  }
  to.add(t);
}

void add_latencies(page& to, std::span<const spmv_record> records) {
  table t({{.title = "latency, medians", .left = true},
           {"event"},
           {"host"},
           {"submit", 1},
           {fmt::format("{} queued", latencies::applications)},
           {fmt::format("{} graph", latencies::applications)},
           {"graph host", 2}});
  std::vector<std::string> notes;  // each once
  for (const spmv_record& r : records) {
    if (!r.latency) continue;
    const latencies& l = *r.latency;
    const bool events = l.submit.has_value();
    t.row({r.kernel, cell(events ? std::optional(r.time.median) : std::nullopt), cell(l.host), cell(l.submit),
           cell(l.queued), cell(l.graph), cell(l.graph_host)},
          mark_of(r));
    if (!l.missing.empty() && std::ranges::find(notes, l.missing) == notes.end()) notes.push_back(l.missing);
  }
  to.add(t);
  for (const std::string& n : notes) to.line(fmt::format("  -: {}", n));
}

void add_sweep(page& to, const std::vector<spmv_record>& records, const std::string& parameter) {
  std::map<std::string, double> best;
  const auto key = [](const spmv_record& r) { return fmt::format("{}, {}", r.kernel, r.cache); };
  for (const spmv_record& r : records) {
    const auto [at, is_new] = best.try_emplace(key(r), r.time.median);
    at->second = std::min(at->second, r.time.median);
  }
  table t({{.title = "kernel", .left = true}, {parameter}, {"median"}, {"IQR"}, {"best / this"}});
  std::vector<const spmv_record*> sorted;
  for (const spmv_record& r : records) sorted.push_back(&r);
  std::ranges::stable_sort(sorted, {}, [&](const spmv_record* r) { return key(*r); });
  for (const spmv_record* r : sorted) {
    const double fastest = best.at(key(*r));
    const bool is_best = r->time.median == fastest;
    t.row({key(*r), r->variant.substr(r->variant.find('=') + 1), median_cell(*r), spread_cell(r->time),
           fmt::format("{:.2f}", fastest / r->time.median)},
          is_best ? '*' : ' ', is_best ? look::green : look::plain);
  }
  to.add(t);
  explain_disturbed(to, records);
}

}  // namespace tulle::cli::bench
