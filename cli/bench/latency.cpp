#include "latency.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <tulle/core/stream.hpp>

namespace tulle::cli::bench {
namespace {

double median(const std::vector<double>& times) { return summarise(times).median; }

void time_graphs(const bench_run& run, subject& s, const std::function<void()>& once,
                 const std::function<void()>& many_times, latencies& l) {
  std::optional<graph> one, many;
  try {
    one.emplace(run.ctx, once);
    many.emplace(run.ctx, many_times);
  } catch (const error& e) {
    l.missing = fmt::format("cannot be captured in a graph: {}", e.what());
    return;
  }
  const auto launch_many = [&] { many->launch(); };
  l.graph = median(run.clock.repeat(cache_state::warm, launch_many)) / latencies::applications;
  fill_bytes(run.ctx, s.y.data(), s.y.space(), 0xff, s.y.bytes());
  l.graph_host = median(run.clock.repeat_on_host(until::done, [&] { one->launch(); }));
}

std::string cell(std::optional<double> microseconds) {
  return microseconds ? fmt::format(" {:>9.2f}", *microseconds) : fmt::format(" {:>9}", "-");
}

}  // namespace

latencies measure_latency(const bench_run& run, subject& s, spmv_operator& op) {
  const auto once = [&] { apply(run.ctx, s, op); };
  const auto many_times = [&] {
    for (int i = 0; i < latencies::applications; ++i) once();
  };
  latencies l;
  l.host = median(run.clock.repeat_on_host(until::done, once));
  if (run.ctx.backend() == backend_kind::cpu) {
    l.missing = "a call on the CPU returns when it is done: there is no queue and no graph";
    return l;
  }
  l.submit = median(run.clock.repeat_on_host(until::queued, once));
  l.queued = median(run.clock.repeat_on_host(until::done, many_times)) / latencies::applications;
  time_graphs(run, s, once, many_times, l);
  return l;
}

std::vector<std::string> latency_kernels(backend_kind backend) {
  if (backend == backend_kind::cpu) return {"default"};
  return {"default", "cusparse.csr1", "cusparse.csr2"};
}

std::string latency_table(std::span<const record> records) {
  std::string text = fmt::format("  {:<20} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "latency, us", "event", "host",
                                 "submit", fmt::format("{} queued", latencies::applications),
                                 fmt::format("{} graph", latencies::applications), "graph host");
  std::vector<std::string> notes;  // each once
  for (const record& r : records) {
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

}  // namespace tulle::cli::bench
