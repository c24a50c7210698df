#include "measure.hpp"

#include <algorithm>
#include <limits>

namespace tulle::cli::bench {
namespace {

bool reads_untransposed(const kernel_info& kernel) { return kernel.operation == kernel_operation::spmv_transposed; }

struct planned {
  std::optional<any_spmv_plan> plan;
  double microseconds = std::numeric_limits<double>::infinity();
};

/// Best of three, or the only one when it takes longer than a second. Never two plans at once: memory is scarce.
planned plan_kernel(const trial& t) {
  constexpr double long_plan = 1e6;
  spmv_options options = t.options;
  options.kernel = t.kernel.name;
  options.transpose = t.s.work.transpose;
  t.s.mixed.tell(options);
  t.s.work.tell(options);
  if (t.s.reorder == spmv_reorder::always) {
    options.reorder = t.s.reorder;
    options.reorder_method = t.s.reorder_method;
  }
  if (reads_untransposed(t.kernel)) options.effort = spmv_effort::none;  // it needs no analysis
  planned p;
  for (int i = 0; i < 3; ++i) {
    p.plan.reset();
    p.plan.emplace(t.run.ctx, t.s.a, options);
    if (t.s.work.rhs > 1 && !p.plan->can(operation::apply_many)) {
      throw error(status::unsupported, "it takes one right-hand side at a time");
    }
    p.microseconds = std::min(p.microseconds, p.plan->plan_microseconds());
    if (p.plan->plan_microseconds() > long_plan) break;
  }
  return p;
}

/// From the fastest runs, which other programs on the machine disturbed least.
verdict diagnose(const trial& t, cache_state state, const spmv_record& r, std::size_t matrix_bytes) {
  evidence e{r.time.min, r.moved_bytes, r.read_bandwidth, t.run.host.launch_us, {}, {}};
  if (t.run.diagnose && !reads_untransposed(t.kernel) && needs_probes(e)) {
    e.gather_time = time_without_gather(t, state, matrix_bytes);
    e.balance_time = time_with_even_rows(t, state);
  }
  return name_bottleneck(e);
}

spmv_record describe(const trial& t, const planned& p) {
  spmv_record r = describe(t.s, *p.plan);
  r.variant = t.variant;
  r.vendor = t.kernel.role == kernel_role::vendor;
  r.chosen = t.variant.empty() && t.kernel.name == t.s.chosen;
  r.read_bandwidth = t.run.host.read;
  r.plan_us = p.microseconds;
  if (r.chosen) {  // what the plan cost, which looked at no more than the choice needs
    r.reason = t.s.reason;
    r.effort = name(t.s.effort);
    r.plan_us = t.s.chosen_plan_us;
  }
  return r;
}

void show(const trial& t, std::string_view what) {
  if (t.run.bar == nullptr) return;
  t.run.bar->step(fmt::format("{} {} {}{}{}: {}", t.s.matrix.name, t.s.precision(), t.kernel.name,
                              t.variant.empty() ? "" : " ", t.variant, what));
}

void measure_planned(const trial& t, spmv_results& out) {
  subject& s = t.s;
  show(t, "plan");
  const planned p = plan_kernel(t);
  s.reset(t.run.ctx);
  std::vector<spmv_record> records;
  for (const cache_state state : t.run.states) {
    show(t, name(state));
    records.push_back(describe(t, p));
    records.back().cache = name(state);
    records.back().time = t.run.clock.time(state, [&] { s.apply(*p.plan); });
    if (!t.run.passes) continue;
    records.back().passes = measure_passes(t.run, s, *p.plan, state);
    s.reset(t.run.ctx);
    s.apply(*p.plan);
  }
  t.run.ctx.synchronize();
  const value_tolerance promise = s.mixed.promised(*p.plan);
  double ratio = s.error_ratio(s.y, promise);
  std::optional<latencies> latency;
  if (t.run.latency && ratio <= 1) {
    latency = measure_latency(t.run, s, *p.plan);
    ratio = s.error_ratio(s.y, promise);
  }
  for (std::size_t i = 0; i < records.size(); ++i) {
    records[i].error_ratio = ratio;
    records[i].latency = latency;
    records[i].bottleneck = diagnose(t, t.run.states[i], records[i], p.plan->matrix_bytes());
    out.records.push_back(std::move(records[i]));
  }
}

}  // namespace

void measure_kernel(const trial& t, spmv_results& out) {
  const auto& [run, s, kernel, options, variant] = t;
  omission refusal{std::string(kernel.name), s.matrix.name, std::string(s.precision()),
                   unsupported_reason(kernel, s.stats, s.a.types, run.ctx.info()), false};
  if (!refusal.reason.empty()) return out.omitted.push_back(std::move(refusal));
  try_kernel(std::move(refusal), true, out.omitted, [&] { measure_planned(t, out); });
}

void add_break_even(std::span<spmv_record> records, std::string_view base_name) {
  for (spmv_record& r : records) {
    const auto base = std::ranges::find_if(records, [&](const spmv_record& other) {
      return other.kernel == base_name && other.cache == r.cache && other.variant.empty();
    });
    if (base != records.end()) r.break_even = break_even(r.plan_us, r.time.median, base->time.median);
  }
}

}  // namespace tulle::cli::bench
