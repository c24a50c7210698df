#include "plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tulle/core/status.hpp>

#include "common/command.hpp"
#include "compare.hpp"
#include "plot/bars.hpp"
#include "plot/roofline.hpp"
#include "plot_entries.hpp"

namespace tulle::cli::bench {
namespace {

const char* formula_of(const std::string& operation) {
  if (operation == "spmm") return "Y = A X";
  if (operation == "spgemm") return "C = A B";
  return operation == "solve" ? "A x = b" : "y = A x";
}

/// What the memory reaches, in GB/s: reading, or of C = A B copying.
std::optional<double> bandwidth_of(const json& context, const std::string& operation) {
  const auto measured = context.find("bandwidth");
  if (measured == context.end() || !measured->is_object()) return std::nullopt;
  const double bytes = number_of(*measured, operation == "spgemm" ? "copy" : "read");
  return bytes > 0 ? std::optional(bytes * 1e-9) : std::nullopt;
}

/// What was measured, on what, and how.
plot::heading heading_of(const json& context, const std::vector<entry>& entries, const std::string& what,
                         std::optional<double> limit) {
  std::set<std::string> operations, states;
  for (const entry& e : entries) {
    operations.insert(formula_of(e.operation));
    if (!e.cache.empty()) states.insert(e.cache);
  }
  const bool cpu = text_of(context, "backend") == "cpu";
  const double count = number_of(context, "threads", "num_cpus");
  const std::string threads = cpu ? fmt::format(", {:g} thread{}", count, count == 1 ? "" : "s") : "";
  std::string fact = "medians";
  if (!states.empty()) fact += fmt::format(", {} cache", fmt::join(states, " and "));
  if (const std::string commit = text_of(context, "commit"); !commit.empty()) fact += ", commit " + commit;
  plot::heading h{fmt::format("{}: {}", fmt::join(operations, ", "), what),
                  {text_of(context, "device") + threads, fact}};
  if (limit && std::ranges::any_of(entries, [&](const entry& e) { return e.gbs > *limit; })) {
    h.facts.emplace_back(
        "beyond the measured bandwidth: A is stored in fewer bytes than in CSR, or comes from a cache");
  }
  return h;
}

std::string label_of(double bandwidth) { return fmt::format("measured bandwidth, {:.4g} GB/s", bandwidth); }

void draw_bars(const json& context, const std::vector<entry>& entries, const std::string& file) {
  const bool flops =
      std::ranges::all_of(entries, [](const entry& e) { return e.operation == "spgemm" && e.gflops > 0; });
  plot::bar_chart chart;
  chart.unit = flops ? "GFLOP/s" : "GB/s (bytes that must move)";
  chart.kinds = {roles.begin(), roles.end()};
  chart.spread = std::ranges::all_of(entries, &entry::quartiles) ? "between the quartiles" : "one standard deviation";
  if (!flops) chart.limit = bandwidth_of(context, entries.front().operation);
  if (chart.limit) chart.limit_label = label_of(*chart.limit);
  chart.text = heading_of(context, entries, flops ? "GFLOP/s by kernel" : "GB/s by kernel", chart.limit);
  std::map<std::string, std::size_t> groups;
  for (const entry& e : entries) {
    const std::string title = fmt::format("{}, {}{}{}", e.matrix, e.precision, e.rest.empty() ? "" : ", ", e.rest);
    const auto [found, is_new] = groups.emplace(title, chart.groups.size());
    if (is_new) chart.groups.push_back({title, {}});
    const double rate = flops ? e.gflops : e.gbs;
    chart.groups[found->second].bars.push_back(
        {e.kernel, rate, rate * e.median / e.late, rate * e.median / e.soon, e.role()});
  }
  for (plot::bar_group& g : chart.groups) std::ranges::stable_sort(g.bars, std::ranges::greater{}, &plot::bar::value);
  plot::draw_bars(file, chart);
}

/// A series for each kernel, or where these are many, for what the plan chose, others and the vendor's.
std::vector<std::string> series_of(const std::vector<entry>& entries) {
  std::vector<std::string> kernels;
  for (const entry& e : entries) {
    if (std::ranges::find(kernels, e.kernel) == kernels.end()) kernels.push_back(e.kernel);
  }
  if (kernels.size() <= plot::colours::series.size()) return kernels;
  return {};
}

void draw_roofline(const json& context, const std::vector<entry>& entries, const std::string& file) {
  plot::roofline chart;
  const char* const of = entries.front().operation == "spgemm" ? "product" : "nonzero";
  chart.x_label = fmt::format("bytes that must move for a {}", of);
  chart.y_label = "GB/s";
  chart.roof = bandwidth_of(context, entries.front().operation);
  if (chart.roof) chart.roof_label = label_of(*chart.roof);
  chart.text = heading_of(context, entries, fmt::format("GB/s against bytes for a {}", of), chart.roof);
  const std::vector<std::string> kernels = series_of(entries);
  chart.series = kernels.empty() ? std::vector<std::string>{roles.begin(), roles.end()} : kernels;
  for (const entry& e : entries) {
    if (!(e.bytes_each > 0)) continue;
    const auto kernel = static_cast<std::size_t>(std::ranges::find(kernels, e.kernel) - kernels.begin());
    chart.points.push_back({e.matrix, e.bytes_each, e.gbs, kernels.empty() ? e.role() : kernel});
  }
  if (chart.points.empty()) {
    throw error(
        status::invalid_argument,
        fmt::format("--plot {}: no measurement says how many bytes must move; --plot-kind bars needs none", file));
  }
  plot::draw_roofline(file, chart);
}

}  // namespace

void plot_record(const json& document, const bench_options& o) {
  const std::vector<entry> entries = entries_of(document, o);
  if (entries.empty()) {
    throw error(status::invalid_argument,
                fmt::format("--plot {}: there is nothing to draw: {} has no benchmark with GB/s{}", o.plot,
                            o.from.empty() ? "this run" : o.from, o.from.empty() ? "" : " of what was asked for"));
  }
  const json context = document.value("context", json::object());
  (o.plot_kind == "bars" ? draw_bars : draw_roofline)(context, entries, o.plot);
  if (o.plot != "-") note(fmt::format("wrote {}: {}", o.plot, counted(std::ssize(entries), "measurement")));
}

int run_plot(const bench_options& o) {
  plot_record(read_run(o.from), o);
  return ok;
}

}  // namespace tulle::cli::bench
