#include <fmt/format.h>

#include "measure.hpp"

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
  s.reset(run.ctx);
  l.graph_host = median(run.clock.repeat_on_host(until::done, [&] { one->launch(); }));
}

}  // namespace

latencies measure_latency(const bench_run& run, subject& s, const any_spmv_plan& plan) {
  const auto once = [&] { s.apply(plan); };
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

}  // namespace tulle::cli::bench
