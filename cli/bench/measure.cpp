#include "measure.hpp"

#include <algorithm>
#include <new>

#include "core/backends.hpp"
#include "latency.hpp"
#include "plan/find_kernel.hpp"
#include "probes.hpp"

namespace tulle::cli::bench {
namespace {

struct planned {
  std::unique_ptr<spmv_operator> op;
  double microseconds = 0;
};

/// Best of three, or the only one when it takes longer than a second. Never two operators at once: memory is scarce.
planned plan_kernel(const bench_run& run, const subject& s, const spmv_kernel& kernel, const spmv_options& options) {
  constexpr double long_plan = 1e6;
  planned p;
  for (int i = 0; i < 3; ++i) {
    p.op.reset();
    const double t =
        run.clock.once([&] { p.op = kernel.make_plan(run.ctx, scatters(kernel) ? s.source : s.a, s.stats, options); });
    p.microseconds = i == 0 ? t : std::min(p.microseconds, t);
    if (t > long_plan) break;
  }
  return p;
}

/// The caller's x and y once, the matrix as the operator stores it.
double moved_bytes(const spmv_operator& op, const subject& s) {
  return static_cast<double>(op.matrix_bytes() + s.x.bytes() + s.y.bytes());
}

/// From the fastest runs: what other programs on the machine add to a run tells nothing about the kernel.
verdict diagnose(const bench_run& run, subject& s, const spmv_kernel& kernel, const spmv_options& options,
                 cache_state state, const record& r, const spmv_operator& op) {
  evidence e{r.time.min, r.moved_bytes, r.read_bandwidth, run.host.launch_us, {}, {}};
  if (run.diagnose && !scatters(kernel) && needs_probes(e)) {
    e.gather_time = time_without_gather(run, s, kernel, options, state, op.matrix_bytes());
    e.balance_time = time_with_even_rows(run, s, kernel, options, state);
  }
  return name_bottleneck(e);
}

/// Analysis and make_plan, whatever the kernel. But what scatters needs no analysis, and what a plan chose costs what that
/// plan did: it looks at no more than the choice needs.
void set_plan_time(const subject& s, const spmv_kernel& kernel, const planned& p, record& r) {
  r.effort = name(scatters(kernel) ? spmv_effort::none : spmv_effort::standard);
  r.plan_us = (scatters(kernel) ? 0 : s.analysis_us) + p.microseconds;
  if (!r.chosen) return;
  r.effort = name(s.effort);
  r.plan_us = s.chosen_plan_us;
}

record describe(const bench_run& run, const subject& s, const spmv_kernel& kernel, const planned& p,
                const std::string& variant) {
  record r;
  r.kernel = kernel.name;
  r.matrix = s.name;
  r.matrix_hash = s.hash;
  r.precision = name(s.a.types.value);
  r.variant = variant;
  r.parameters = p.op->parameters();
  r.rows = s.a.rows;
  r.cols = s.a.cols;
  r.nnz = s.a.nnz;
  r.vendor = kernel.reference_only;
  r.chosen = variant.empty() && kernel.name == s.chosen;
  if (r.chosen) r.reason = s.reason;
  r.work = s.work;
  r.compulsory_bytes = compulsory_bytes(s.stats, size_of(s.a.types.value), false, s.work.rhs);
  r.moved_bytes = moved_bytes(*p.op, s);
  r.read_bandwidth = run.host.memory.read;
  set_plan_time(s, kernel, p, r);
  r.workspace_bytes = p.op->workspace_bytes();
  return r;
}

/// y starts as NaN: what is not written is seen.
void measure_planned(const bench_run& run, subject& s, const spmv_kernel& kernel, const spmv_options& options,
                     const std::string& variant, results& out) {
  const planned p = plan_kernel(run, s, kernel, options);
  fill_bytes(run.ctx, s.y.data(), s.y.space(), 0xff, s.y.bytes());
  std::vector<record> records;
  for (const cache_state state : run.states) {
    record r = describe(run, s, kernel, p, variant);
    r.cache = name(state);
    r.time = summarise(run.clock.repeat(state, [&] { apply(run.ctx, s, *p.op); }));
    records.push_back(std::move(r));
  }
  run.ctx.synchronize();
  double ratio = s.error_ratio(s.y);
  std::optional<latencies> latency;
  if (run.latency && ratio <= 1) {
    latency = measure_latency(run, s, *p.op);
    ratio = s.error_ratio(s.y);
  }
  for (std::size_t i = 0; i < records.size(); ++i) {
    records[i].error_ratio = ratio;
    records[i].latency = latency;
    records[i].bottleneck = diagnose(run, s, kernel, options, run.states[i], records[i], *p.op);
    out.records.push_back(std::move(records[i]));
  }
}

/// Statuses by which a kernel declines a matrix, as opposed to failing on it.
bool declines(status code) {
  return code == status::out_of_memory || code == status::device_out_of_memory || code == status::unsupported ||
         code == status::overflow || code == status::invalid_argument;
}

}  // namespace

std::string_view base_kernel(backend_kind backend, const workload& work) {
  return work.transpose ? spmv_transposed_kernels(backend).front().name : kernel_without_set_up(backend).name;
}

std::vector<const spmv_kernel*> select_kernels(const bench_run& run, const subject& s,
                                               std::span<const std::string> names) {
  const backend_kind backend = run.ctx.backend();
  const auto asked = [&](std::string_view kernel) {
    return std::ranges::any_of(names, [&](const std::string& n) {
      if (n == "default") return kernel == s.chosen || kernel == base_kernel(backend, s.work);
      return n == "all" || n == kernel;
    });
  };
  const auto transposed = spmv_transposed_kernels(backend);
  const auto reading_a = s.work.transpose ? transposed : transposed.first(0);
  for (const std::string& n : names) {
    if (std::ranges::find(reading_a, n, &spmv_kernel::name) != reading_a.end()) continue;
    if (n != "all" && n != "default") find_spmv_kernel(backend, n, s.a.types);
  }
  std::vector<const spmv_kernel*> selected;
  for (const spmv_kernel& k : reading_a) {
    if (asked(k.name)) selected.push_back(&k);
  }
  for (const spmv_kernel& k : spmv_kernels(backend)) {
    if (contains(k.types, s.a.types) && asked(k.name)) selected.push_back(&k);
  }
  return selected;
}

void measure_kernel(const bench_run& run, subject& s, const spmv_kernel& kernel, const spmv_options& options,
                    const std::string& variant, results& out) {
  const auto omit = [&](const std::string& reason, bool failed) {
    out.omitted.push_back({std::string(kernel.name), s.name, std::string(name(s.a.types.value)), reason, failed});
  };
  if (const support able = kernel.supports(s.stats, s.a.types, run.ctx.info()); !able.ok) {
    return omit(able.reason, false);
  }
  try {
    measure_planned(run, s, kernel, options, variant, out);
  } catch (const error& e) {
    omit(e.what(), !declines(e.code()));
  } catch (const std::bad_alloc&) {
    omit("out of memory", false);
  }
}

void add_break_even(std::span<record> records, std::string_view base_name) {
  for (record& r : records) {
    const auto base = std::ranges::find_if(records, [&](const record& other) {
      return other.kernel == base_name && other.cache == r.cache && other.variant.empty();
    });
    if (base != records.end()) r.break_even = break_even(r.plan_us, r.time.median, base->time.median);
  }
}

}  // namespace tulle::cli::bench
